"""What expressions begin with: series, and functions of what they said in the time before."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from playground.prometheus.past import NAME, Labels, Past, Series

Vector = dict[Labels, float]


class ExecutionError(Exception):
    """A query that can be read and has no result."""


class Expression(Protocol):
    """Something that comes to a value for each of several series, moment by moment."""

    def vectors(self, look: "Look") -> list[Vector]:
        """What it comes to at each moment of the look."""
        ...


class Look:
    """One look at the past at several moments; what comes twice is found out once."""

    def __init__(self, past: Past, moments: Sequence[float]) -> None:
        self.past = past
        self.moments = moments
        self._known: dict[Expression, list[Vector]] = {}

    def at(self, expression: Expression) -> list[Vector]:
        """What an expression comes to at each moment."""
        if expression not in self._known:
            self._known[expression] = expression.vectors(self)
        return self._known[expression]

    def each(self, inner: Expression, change: Callable[[Vector], Vector]) -> list[Vector]:
        """What an expression comes to, changed at each moment."""
        return [change(vector) for vector in self.at(inner)]


@dataclass(frozen=True)
class Matcher:
    """One condition on a label; a label that is not there is empty."""

    label: str
    sign: str
    word: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether a series is meant."""
        there = labels.get(self.label, "")
        if self.sign == "=~":
            return self._pattern.fullmatch(there) is not None
        return (there == self.word) is (self.sign == "=")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.word)


@dataclass(frozen=True)
class Selector:
    """The last value of each series that is meant."""

    matchers: tuple[Matcher, ...]

    def chosen(self, past: Past) -> Iterator[tuple[Labels, Series]]:
        """The series that are meant."""
        for labels, series in past.series():
            if all(matcher.fits(series.labels) for matcher in self.matchers):
                yield labels, series

    def vectors(self, look: Look) -> list[Vector]:
        """What was last said; what was gone at the last scrape is gone."""
        chosen = list(self.chosen(look.past))
        found = []
        for moment in look.moments:
            scrape = look.past.last_scrape(moment)
            found.append(_said(chosen, [] if scrape is None else [scrape], FUNCTIONS["last"]))
        return found


FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": lambda values: sum(values) / len(values),
    "max": max,
    "sum": sum,
    "count": len,
    "last": lambda values: values[-1],
}


@dataclass(frozen=True)
class OverTime:
    """A function of the values of each series in the time before."""

    function: str
    inner: Selector
    seconds: int

    def vectors(self, look: Look) -> list[Vector]:
        """One value of each series that has any."""
        work = FUNCTIONS[self.function]
        chosen = list(self.inner.chosen(look.past))
        windows = (look.past.scrapes(each - self.seconds, each) for each in look.moments)
        found = [_said(chosen, window, work) for window in windows]
        return found if self.function == "last" else [nameless(each) for each in found]


def _said(
    chosen: Sequence[tuple[Labels, Series]],
    scrapes: Sequence[float],
    work: Callable[[Sequence[float]], float],
) -> Vector:
    found: Vector = {}
    for labels, series in chosen:
        values = [value for each in scrapes if (value := series.at(each)) is not None]
        if values:
            found[labels] = work(values)
    return found


def nameless(vector: Vector) -> Vector:
    """The same values, of what is not called anything any more."""
    found = {without_name(labels): value for labels, value in vector.items()}
    if len(found) != len(vector):
        raise ExecutionError("vector cannot contain metrics with the same labelset")
    return found


def without_name(labels: Labels) -> Labels:
    """All labels but the metric's name."""
    return tuple(pair for pair in labels if pair[0] != NAME)
