"""What curves are drawn over: steps, epochs or time, and in which unit."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.errors import NotFoundError
from bot.training.series.axis import Drawn, Over, axis_for
from bot.training.series.points import Point, Series, extended
from bot.training.tables import Run

BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def drawn(*points: tuple[float | None, float | None, float, float], name: str = "loss") -> Drawn:
    """A metric of a run: step, epoch, seconds since the run began, and value."""
    told: dict[str, Any] = {"name": "wide", "number": 1, "started_at": BEGAN, "asked_at": BEGAN}
    run = Run(**told)
    at = BEGAN.timestamp()
    made = [Point(step, epoch, at + seconds, value) for step, epoch, seconds, value in points]
    return Drawn(name, run, name, extended(Series(), made))


STEPS = drawn((1, 0.1, 60, 3.0), (2, 0.2, 120, 2.0))
EPOCHS = drawn((None, 1, 60, 3.0), (None, 2, 120, 2.0))
TIMES = drawn((None, None, 60, 3.0), (None, None, 120, 2.0))


def test_the_axis_is_one_that_all_have() -> None:
    assert axis_for([STEPS], None).over is Over.STEP
    assert axis_for([STEPS, EPOCHS], None).over is Over.EPOCH
    assert axis_for([STEPS, EPOCHS, TIMES], None).over is Over.TIME


def test_a_missing_axis_is_named_with_an_example() -> None:
    with pytest.raises(NotFoundError) as refused:
        axis_for([STEPS, EPOCHS], Over.STEP)
    assert (refused.value.message, refused.value.hint) == (
        "loss of wide has no steps.",
        (
            'Its lines need one, for example `quartermaster: {"step": 3, "loss": 0.5}`.'
            " `--over time` works in any case."
        ),
    )


def test_time_counts_minutes_or_hours_since_the_start() -> None:
    short = axis_for([TIMES], Over.TIME)
    assert (short.label, short.curve(TIMES).points) == ("minutes", ((1.0, 3.0), (2.0, 2.0)))
    day = drawn((None, None, 7200, 3.0), (None, None, 86_400, 2.0))
    long = axis_for([TIMES, day], Over.TIME)
    assert (long.label, long.curve(day).points) == ("hours", ((2.0, 3.0), (24.0, 2.0)))


def test_what_a_restart_repeats_replaces_what_was() -> None:
    again = drawn((1, None, 10, 3.0), (2, None, 20, 2.5), (3, None, 30, 2.0),
                  (2, None, 90, 2.4), (3, None, 99, 1.9))  # fmt: skip
    assert axis_for([again], None).curve(again).points == ((1.0, 3.0), (2.0, 2.4), (3.0, 1.9))
