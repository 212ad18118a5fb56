"""What was scraped: series that change at moments, seen whenever somebody looked."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf

Labels = tuple[tuple[str, str], ...]
NAME = "__name__"
SCRAPE_SECONDS = 60
# So long a value stands for what comes after it, where nothing does.
LOOK_BACK_SECONDS = 300


def labels(name: str, words: Mapping[str, str]) -> Labels:
    """A metric with its labels; an empty one is as good as none."""
    pairs = {NAME: name, **words}
    return tuple(sorted((key, word) for key, word in pairs.items() if word))


@dataclass
class Series:
    """What an exporter would have said at any moment; None while it says nothing."""

    labels: Mapping[str, str]
    _moments: list[float] = field(default_factory=list)
    _values: list[float | None] = field(default_factory=list)

    def change(self, moment: float, value: float | None) -> None:
        """Says something else from that moment on."""
        if self._moments and self._moments[-1] >= moment:
            self._values[-1] = value
        elif not self._values or self._values[-1] != value:
            self._moments.append(moment)
            self._values.append(value)

    def at(self, moment: float) -> float | None:
        """What it said at a moment."""
        place = bisect_right(self._moments, moment) - 1
        return self._values[place] if place >= 0 else None


class Past:
    """All series, and when nobody scraped them; seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._series: dict[Labels, Series] = {}
        self._away: list[tuple[float, float]] = []

    def say(self, of: Labels, moment: float, value: float | None) -> None:
        """A series has this value from that moment on, or is gone."""
        if of not in self._series:
            self._series[of] = Series(dict(of))
        self._series[of].change(moment, value)

    def leave(self) -> None:
        """From now on nobody scrapes."""
        if not self.is_away:
            self._away.append((self._now(), inf))

    def return_(self) -> None:
        """From now on somebody does again."""
        if self.is_away:
            self._away[-1] = (self._away[-1][0], self._now())

    @property
    def is_away(self) -> bool:
        """Whether nobody scrapes now."""
        return bool(self._away) and self._away[-1][1] == inf

    def series(self) -> Iterator[tuple[Labels, Series]]:
        """All of them."""
        yield from self._series.items()

    def present(self) -> str:
        """What all exporters say now, in the text that they are scraped for."""
        told: dict[str, list[str]] = {}
        for pairs, series in self._series.items():
            value, words = series.at(self._now()), dict(pairs)
            if value is not None:
                name = words.pop(NAME)
                shown = ",".join(
                    f"{key}={json.dumps(word, ensure_ascii=False)}" for key, word in words.items()
                )
                told.setdefault(name, []).append(f"{name}{{{shown}}} {value}\n")
        return "".join(f"# TYPE {name} gauge\n{''.join(told[name])}" for name in sorted(told))

    def scrapes(self, since: float, until: float) -> list[float]:
        """When somebody looked, up to now; both moments count, as in Prometheus 2."""
        first = ceil(since / SCRAPE_SECONDS)
        last = floor(min(until, self._now()) / SCRAPE_SECONDS)
        moments = (float(number * SCRAPE_SECONDS) for number in range(first, last + 1))
        return [moment for moment in moments if not self._was_away(moment)]

    def last_scrape(self, until: float) -> float | None:
        """The last one whose values still stand at that moment."""
        return next(iter(reversed(self.scrapes(until - LOOK_BACK_SECONDS, until))), None)

    def _was_away(self, moment: float) -> bool:
        return any(left <= moment < returned for left, returned in self._away)
