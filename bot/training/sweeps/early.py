"""The median rule, which stops the worst cells of a sweep early. Pure: no I/O."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

from bot.charts.values import short_number
from bot.training.series.axis import Over, rising
from bot.training.series.points import Series
from bot.training.series.service import value_words
from bot.training.sweeps.cells import MAX, Cell
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run, RunIntent, RunPhase

MEDIAN = "median"
FEWEST_VALUES = 5
"""From which value on a cell is judged if no warm-up was asked for."""

USUAL_OTHERS = 3
"""With how many other cells a cell is compared at least if nothing else was asked for."""

PLACES = (Over.STEP, Over.EPOCH)


@dataclass(frozen=True)
class CellPoints:
    """The finite values of a cell's metric, with their steps or epochs in rising order.

    `last` is the step or epoch of the newest value, and `count` how many there were in all.
    `averages` has those that were asked for: most cells are compared at the same few places.
    """

    places: Sequence[float]
    values: Sequence[float]
    last: float
    count: int
    best: float
    averages: dict[int, float] = field(default_factory=dict)

    def average(self, place: float) -> float | None:
        """The average of the values up to there; None for a cell that is not as far."""
        end = bisect_right(self.places, place)
        if self.last < place or not end:
            return None
        if end not in self.averages:
            self.averages[end] = _mean(self.values[:end])
        return self.averages[end]


@dataclass(frozen=True)
class EarlyStop:
    """A cell that the rule stops: where, its best value so far, and the median of the others."""

    number: int
    run_id: str
    over: Over
    place: float
    value: float
    median: float
    others: int

    @property
    def row(self) -> dict[str, str]:
        """What the row of the sweep keeps of it, as the card shows it."""
        return {
            "at": f"{self.over} {short_number(self.place)}",
            "value": value_words(self.value),
            "median": value_words(self.median),
        }

    def why(self, sweep: Sweep) -> str:
        """Why the run is stopped, as a sentence."""
        told, cells = self.row, "cell" if self.others == 1 else "cells"
        return (
            f"Stopped early by the median rule of sweep {sweep.name}: its best {sweep.metric} up to"
            f" {told['at']} was {told['value']}, the median of {self.others} other {cells}"
            f" {told['median']}."
        )


class Judged(NamedTuple):
    """What the rule says of all cells: those to stop, and the runs of those it cannot judge."""

    stops: tuple[EarlyStop, ...] = ()
    unjudged: tuple[str, ...] = ()


def points_over(series: Series, over: Over, best: str) -> CellPoints | None:
    """The values of a series by step or epoch; None if the newest has no such place.

    `best` says which of them is best.
    """
    newest = series.newest
    if newest is None or getattr(newest, over) is None:
        return None
    curve = rising((getattr(point, over), point.value) for point in series.curve())
    finite = [(place, value) for place, value in curve if math.isfinite(value)]
    values = array("d", (value for _, value in finite))
    # Of a long series not all points are kept, but its ends are.
    ends = [each.value for each in (series.lowest, series.highest) if each is not None]
    chosen = max if best == MAX else min
    return CellPoints(
        places=array("d", (place for place, _ in finite)),
        values=values,
        last=curve[-1][0],
        count=series.count,
        best=chosen((*filter(math.isfinite, ends), *values), default=math.nan),
    )


def judged(
    sweep: Sweep, cells: Sequence[Cell], found: Mapping[Over, Mapping[int, CellPoints]]
) -> Judged:
    """Judges the cells by the values of the sweep's metric that were found, by number.

    A cell is stopped if its best value so far is worse than the median of the running averages
    that the other cells had at the same step, or at the same epoch if there are no steps.
    """
    over = max(PLACES, key=lambda each: len(found[each]))
    known = found[over]
    stops = [
        stop
        for cell in cells
        if cell.run is not None and cell.number in known and may_be_stopped(sweep, cell.run)
        if (stop := _stop(sweep, cell.number, cell.run, known, over)) is not None
    ]
    unjudged = [
        cell.run.reference
        for cell in cells
        if cell.run is not None and cell.run.phase == RunPhase.RUNNING
        if cell.number not in known and may_be_stopped(sweep, cell.run)
    ]
    return Judged(tuple(stops), tuple(unjudged))


def still_due(
    sweep: Sweep, cells: Sequence[Cell], stops: Sequence[EarlyStop]
) -> tuple[EarlyStop, ...]:
    """Those of the stops whose run is still the cell's, and live."""
    live = {
        cell.run.id for cell in cells if cell.run is not None and may_be_stopped(sweep, cell.run)
    }
    return tuple(each for each in stops if each.run_id in live)


def may_be_stopped(sweep: Sweep, run: Run) -> bool:
    """Whether the rule may stop the run: not one that people submitted again, and only once."""
    is_own = not run.spec["cell"]["has_card"] and run.id not in sweep.early_stops
    return is_own and run.is_live and run.wanted == RunIntent.RUN and run.removing is None


def _stop(
    sweep: Sweep, number: int, run: Run, known: Mapping[int, CellPoints], over: Over
) -> EarlyStop | None:
    own = known[number]
    is_warm = own.count >= FEWEST_VALUES if sweep.warm_up is None else own.last >= sweep.warm_up
    if not is_warm:
        return None
    others = [
        average
        for each, points in known.items()
        if each != number and (average := points.average(own.last)) is not None
    ]
    if len(others) < sweep.min_cells:
        return None
    middle = median(others)
    # A cell without any finite value has diverged: no value is worse.
    is_worse = math.isnan(own.best) or (
        own.best < middle if sweep.best == MAX else own.best > middle
    )
    if not is_worse:
        return None
    return EarlyStop(number, run.id, over, own.last, own.best, middle, len(others))


def _mean(values: Sequence[float]) -> float:
    try:
        return fmean(values)
    except OverflowError:  # their sum is larger than any number
        return math.fsum(value / len(values) for value in values)
