"""Curves of metrics over steps, epochs or time."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import itemgetter

from bot.charts.values import Curve
from bot.errors import NotFoundError
from bot.training.series.points import Point, Series
from bot.training.tables import Run

_MINUTE, _HOUR = 60.0, 3600.0


class Over(StrEnum):
    """What a curve is drawn over."""

    STEP = "step"
    EPOCH = "epoch"
    TIME = "time"


@dataclass(frozen=True)
class Drawn:
    """One metric of one run, to be drawn under a name."""

    name: str
    run: Run
    metric: str
    series: Series

    @property
    def began_at(self) -> datetime:
        """When its time begins to count."""
        return self.run.started_at or self.run.asked_at


@dataclass(frozen=True)
class Axis:
    """What curves are drawn over, and in which unit: seconds for each minute or hour of time."""

    over: Over
    unit_seconds: float = 1.0

    @property
    def label(self) -> str:
        """What the axis counts."""
        if self.over is not Over.TIME:
            return str(self.over)
        return "hours" if self.unit_seconds == _HOUR else "minutes"

    def place(self, drawn: Drawn, point: Point) -> float | None:
        """Where the point is; None if it has no such place."""
        if self.over is Over.STEP:
            return point.step
        if self.over is Over.EPOCH:
            return point.epoch
        return (point.at - drawn.began_at.timestamp()) / self.unit_seconds

    def curve(self, drawn: Drawn) -> Curve:
        """The curve of a metric. What a restarted program went through again replaces what it was.

        That is: of points before the restart, those at the same place or later are left out.
        """
        points = drawn.series.curve()
        places = ((self.place(drawn, point), point.value) for point in points)
        return Curve(drawn.name, tuple(rising(places)))


def rising(places: Iterable[tuple[float | None, float]]) -> list[tuple[float, float]]:
    """The values with their places in rising order; each leaves out those at higher places."""
    kept: list[tuple[float, float]] = []
    for place, value in places:
        if place is None:
            continue
        if kept and kept[-1][0] > place:
            kept = kept[: bisect_left(kept, place, key=itemgetter(0))]
        kept.append((place, value))
    return kept


def axis_for(drawn: Sequence[Drawn], over: Over | None) -> Axis:
    """The requested axis, else the first of step, epoch and time that all metrics have.

    NotFoundError if a metric lacks the requested one.
    """
    if over is None:
        has_all = (each for each in Over if all(_has(each, one) for one in drawn))
        over = next(has_all, Over.TIME)
    missing = next((one for one in drawn if not _has(over, one)), None)
    if missing is not None:
        raise NotFoundError(
            f"{missing.metric} of {missing.run.reference} has no {over}s.",
            f'Its lines need one, for example `quartermaster: {{"{over}": 3, "loss": 0.5}}`.'
            " `--over time` works in any case.",
        )
    longest = max((_seconds(one) for one in drawn), default=0.0)
    return Axis(over, _MINUTE if longest < 3 * _HOUR else _HOUR)


def _has(over: Over, drawn: Drawn) -> bool:
    """Whether the newest value has such a place: the first lines of a program may lack it."""
    newest = drawn.series.newest
    return newest is not None and Axis(over).place(drawn, newest) is not None


def _seconds(drawn: Drawn) -> float:
    newest = drawn.series.newest
    return newest.at - drawn.began_at.timestamp() if newest is not None else 0.0
