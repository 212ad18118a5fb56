"""Cells that the median rule stops early: which, when, and what people see of it."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.audit import AuditLine
from bot.slack.grammar.container_parameters import SweptParameter
from bot.training.series.axis import Over
from bot.training.series.points import Point, Series, extended
from bot.training.sweeps.cells import Cell
from bot.training.sweeps.early import PLACES, CellPoints, Judged, judged, points_over
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run
from playground.cluster.control.training import Line, Training
from tests.bot.ground import START
from tests.bot.training.rig import Rig
from tests.bot.training.sweeps.sweeping import phases, runs, shown, stops, sweep, sweeps

RATES = SweptParameter("bs", ("8", "16", "24", "96"))
BY_LOSS: dict[str, Any] = {
    "sweep": (RATES,),
    "metric": "loss",
    "best": "min",
    "stop_early": "median",
}


def tells(rig: Rig, losses: Mapping[str, Callable[[int], float]], *, steps: bool = True) -> None:
    """Has the program report a loss each 10 s, 30 times, by its batch size."""
    for size, loss in losses.items():

        def log(
            _: Training, began: datetime, until: datetime, loss: Callable[[int], float] = loss
        ) -> list[Line]:
            at = [(began + timedelta(seconds=10 * number), number) for number in range(1, 31)]
            place = '"step": {}, ' if steps else ""
            return [
                (when, f'quartermaster: {{{place.format(number)}"loss": {loss(number)}}}')
                for when, number in at
                if when <= until
            ]

        rig.world.behaviours[f"--bs {size}"] = Training(epochs=1, seconds_per_epoch=300, log=log)


USUAL: dict[str, Callable[[int], float]] = {
    "8": lambda number: 2.0 - 0.03 * number,
    "16": lambda number: 2.1 - 0.03 * number,
    "24": lambda number: 2.2 - 0.03 * number,
    "96": lambda number: 4.0 - 0.01 * number,
}


def test_the_worst_cell_is_stopped_early(rig: Rig) -> None:
    tells(rig, USUAL)
    sweep_id = sweeps(rig, warm_up=8, min_cells=3, **BY_LOSS)
    rig.pass_time(minutes=4)
    assert phases(rig) == {
        "wide-1": "running", "wide-2": "running", "wide-3": "running", "wide-4": "stopped",
    }  # fmt: skip
    rig.pass_time(minutes=10)
    text = shown(rig, sweep_id)
    assert text.splitlines()[1] == "4 cells: 3 succeeded, 1 stopped early."
    assert (
        "  Early stop  median rule, from step or epoch 8 on, compared with at least 3 other cells\n"
    ) in text
    (kept,) = sweep(rig, sweep_id).early_stops.values()
    (row,) = (line for line in text.splitlines() if line.startswith("  wide-4"))
    told = f"Stopped early at {kept['at']}: {kept['value']}, median {kept['median']}"
    assert told in row
    worst = runs(rig)[3]
    assert worst.stop_why == (
        f"Stopped early by the median rule of sweep wide: its best loss up to {kept['at']} was"
        f" {kept['value']}, the median of 3 other cells {kept['median']}."
    )
    assert (worst.stop_by, worst.stop_at is not None) == (None, True)
    assert rig.effects().count("delete jobs") == 1


def test_an_early_stop_is_audited_once(rig: Rig) -> None:
    tells(rig, USUAL)
    sweeps(rig, warm_up=8, **BY_LOSS)
    rig.pass_time(minutes=10)
    said = rig.do(lambda s: s.scalars(select(AuditLine).where(AuditLine.verb == "run.stop")).all())
    assert [(each.person, each.facts["name"]) for each in said] == [(None, "wide-4")]
    assert said[0].facts["why"].startswith("Stopped early by the median rule of sweep wide:")


def test_without_steps_no_cell_is_stopped(rig: Rig) -> None:
    tells(rig, USUAL, steps=False)
    sweep_id = sweeps(rig, **BY_LOSS)
    rig.pass_time(minutes=4)
    assert (
        "Not stopped early, as their logs have no loss with a step or epoch so far: wide-1, wide-2,"
        " wide-3, wide-4."
    ) in shown(rig, sweep_id)
    rig.pass_time(minutes=10)
    assert set(phases(rig).values()) == {"succeeded"}
    assert "Not stopped early" not in shown(rig, sweep_id)


def test_a_cell_submitted_again_is_kept(rig: Rig) -> None:
    tells(rig, USUAL)
    sweeps(rig, warm_up=8, **BY_LOSS)
    rig.pass_time(minutes=10)
    rig.resubmit("wide-4")
    rig.pass_time(minutes=10)
    assert phases(rig)["wide-4#2"] == "succeeded"


def test_a_persons_stop_comes_first(rig: Rig) -> None:
    tells(rig, USUAL)
    sweep_id = sweeps(rig, warm_up=8, **BY_LOSS)
    rig.pass_time(seconds=70)
    stops(rig, sweep_id)
    rig.pass_time(minutes=10)
    assert {run.stop_why for run in runs(rig)} == {"Its sweep wide was stopped."}
    assert sweep(rig, sweep_id).early_stops == {}


def row(**more: Any) -> Sweep:
    fields: dict[str, Any] = {"name": "wide", "metric": "loss", "best": "min"}
    rule = {"stop_early": "median", "min_cells": 3, "early_stops": {}, "warm_up": 0}
    return Sweep(**(fields | rule | more))


def cell(number: int, *, has_card: bool = False, **more: Any) -> Cell:
    spec = {"cell": {"sweep": "s", "number": number, "has_card": has_card}}
    run = Run(id=f"r{number}", name=f"wide-{number}", number=1, spec=spec, phase="running",
              started_at=START, asked_at=START, **more)  # fmt: skip
    return Cell(number, {}, run)


def judges(
    values: Mapping[int, list[tuple[float, float]]], made: Sweep | None = None, **more: Any
) -> Judged:
    """What the rule says of cells with these steps and values."""
    cells = {number: cell(number, **more) for number in values}
    made = made or row()
    found: dict[Over, dict[int, CellPoints]] = {over: {} for over in PLACES}
    for number, pairs in values.items():
        points = [Point(step, None, 0.0, value) for step, value in pairs]
        known = points_over(extended(Series(), points), Over.STEP, made.best)
        assert known is not None
        found[Over.STEP][number] = known
    return judged(made, [*cells.values()], found)


def steps(*values: float) -> list[tuple[float, float]]:
    return [(float(step), value) for step, value in enumerate(values, start=1)]


OTHERS = {1: steps(3, 2, 1), 2: steps(4, 3, 2), 3: steps(5, 4, 3)}


def test_running_averages_are_compared_at_a_step() -> None:
    # The averages of the others up to step 2 are 2.5, 3.5 and 4.5: their median is 3.5.
    assert judges(OTHERS | {4: steps(9, 3.5)}).stops == ()
    (stop,) = judges(OTHERS | {4: steps(9, 3.6)}).stops
    assert (stop.number, stop.place, stop.value, stop.median, stop.others) == (4, 2, 3.6, 3.5, 3)


def test_a_best_value_long_ago_counts() -> None:
    assert judges(OTHERS | {4: steps(1, 9, 9)}).stops == ()


def test_the_largest_value_may_be_best() -> None:
    (stop,) = judges(OTHERS | {4: steps(0.5, 0.7, 0.1)}, row(best="max")).stops
    assert (stop.value, stop.median) == (0.7, 3.0)


def test_cells_before_the_step_do_not_count() -> None:
    behind = OTHERS | {3: steps(2)}
    assert judges(behind | {4: steps(9, 9)}).stops == ()
    (stop,) = judges(behind | {4: steps(9, 9)}, row(min_cells=2)).stops
    assert (stop.median, stop.others) == (3.0, 2)


@pytest.mark.parametrize(("warm_up", "count"), [(3, 0), (2, 1), (None, 0)])
def test_no_cell_is_stopped_before_warm_up(warm_up: int | None, count: int) -> None:
    assert len(judges(OTHERS | {4: steps(9, 9)}, row(warm_up=warm_up)).stops) == count


def test_without_warm_up_the_fifth_value_decides() -> None:
    long = {number: steps(*[float(number)] * 6) for number in (1, 2, 3)}
    made = row(warm_up=None)
    assert judges(long | {4: steps(9, 9, 9, 9)}, made).stops == ()
    assert len(judges(long | {4: steps(9, 9, 9, 9, 9)}, made).stops) == 1


def test_a_diverged_cell_is_stopped() -> None:
    (stop,) = judges(OTHERS | {4: steps(math.nan, math.inf)}).stops
    assert stop.row["value"] == "nan"


@pytest.mark.parametrize(
    "more", [{"has_card": True}, {"wanted": "stop"}, {"removing": "failed"}, {"ended_at": START}]
)
def test_only_own_live_runs_are_stopped(more: dict[str, Any]) -> None:
    assert judges(OTHERS | {4: steps(9, 9)}, **more) == Judged()


def test_long_series_keep_their_best_value() -> None:
    """The best value may lie between the kept points."""
    values = [5.0] * 1500
    values[777] = 0.5
    long = {number: steps(*[4.0] * 1500) for number in (1, 2, 3)}
    assert judges(long | {4: steps(*values)}).stops == ()


def test_values_near_the_largest_number_are_averaged() -> None:
    """Their sum is larger than any number."""
    huge = {number: steps(1.5e308, 1.5e308) for number in (1, 2, 3)}
    assert judges(huge | {4: steps(1.5e308, 1.5e308)}).stops == ()
    (stop,) = judges(huge | {4: steps(1.6e308, 1.7e308)}).stops
    assert (stop.value, stop.median) == (1.6e308, 1.5e308)
