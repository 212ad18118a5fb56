"""Operators of expressions, as Prometheus has them; compared with a real one in tests."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from playground.prometheus.past import Labels
from playground.prometheus.selecting import (
    FUNCTIONS,
    ExecutionError,
    Expression,
    Look,
    Vector,
    nameless,
    without_name,
)


@dataclass(frozen=True)
class Aggregate:
    """The values of several series as one, by some of their labels."""

    operator: str
    by: tuple[str, ...]
    inner: Expression

    def vectors(self, look: Look) -> list[Vector]:
        """One value of each group."""
        return look.each(self.inner, self._grouped)

    def _grouped(self, vector: Vector) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in vector.items():
            groups.setdefault(_only(labels, self.by), []).append(value)
        return {labels: FUNCTIONS[self.operator](values) for labels, values in groups.items()}


_COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Compare:
    """The values that compare so with a number."""

    sign: str
    inner: Expression
    number: float

    def vectors(self, look: Look) -> list[Vector]:
        """What is left."""
        compares = _COMPARES[self.sign]
        return look.each(
            self.inner, lambda v: {key: x for key, x in v.items() if compares(x, self.number)}
        )


@dataclass(frozen=True)
class Scale:
    """All values divided by a number."""

    inner: Expression
    number: float

    def vectors(self, look: Look) -> list[Vector]:
        """The values without the name of what they were."""
        return look.each(
            self.inner,
            lambda vector: {key: x / self.number for key, x in nameless(vector).items()},
        )


@dataclass(frozen=True)
class Arithmetic:
    """Sum or quotient of the values of series with the same labels."""

    sign: str
    left: Expression
    right: Expression

    def vectors(self, look: Look) -> list[Vector]:
        """Of what both sides have."""
        pairs = zip(look.at(self.left), look.at(self.right), strict=True)
        return [self._matched(nameless(left), nameless(right)) for left, right in pairs]

    def _matched(self, left: Vector, right: Vector) -> Vector:
        return {
            key: x + right[key] if self.sign == "+" else _divided(x, right[key])
            for key, x in left.items()
            if key in right
        }


@dataclass(frozen=True)
class Join:
    """Products of many series with one each, by some of their labels."""

    left: Expression
    on: tuple[str, ...]
    right: Expression

    def vectors(self, look: Look) -> list[Vector]:
        """The left side, times what fits it."""
        pairs = zip(look.at(self.left), look.at(self.right), strict=True)
        return [self._matched(left, right) for left, right in pairs]

    def _matched(self, left: Vector, right: Vector) -> Vector:
        by_key: Vector = {}
        for labels, value in right.items():
            key = _only(labels, self.on)
            if key in by_key:
                raise ExecutionError(
                    "found duplicate series for the match group on the right hand-side of the"
                    " operation;many-to-many matching not allowed: matching labels must be unique"
                    " on one side"
                )
            by_key[key] = value
        return {
            labels: value * by_key[key]
            for labels, value in nameless(left).items()
            if (key := _only(labels, self.on)) in by_key
        }


@dataclass(frozen=True)
class Or:
    """One side, and of the other what the first does not have."""

    left: Expression
    right: Expression

    def vectors(self, look: Look) -> list[Vector]:
        """Both together."""
        found = []
        for left, right in zip(look.at(self.left), look.at(self.right), strict=True):
            there = {without_name(labels) for labels in left}
            more = {key: x for key, x in right.items() if without_name(key) not in there}
            found.append({**left, **more})
        return found


@dataclass(frozen=True)
class Label:
    """The same with one label set."""

    inner: Expression
    label: str
    word: str

    def vectors(self, look: Look) -> list[Vector]:
        """The same values."""
        return look.each(self.inner, lambda v: {self._labelled(key): x for key, x in v.items()})

    def _labelled(self, labels: Labels) -> Labels:
        return tuple(sorted({**dict(labels), self.label: self.word}.items()))


def _only(labels: Labels, names: Sequence[str]) -> Labels:
    return tuple(pair for pair in labels if pair[0] in names)


def _divided(value: float, by: float) -> float:
    if by:
        return value / by
    return value * float("inf") if value else nan
