"""Epoch times of runs, by the number of nodes that ran them."""

from bot.training.records.epochs import EpochTime, epoch_times, note_epochs
from bot.training.tables import Run, RunPhase
from tests.bot.training.objects import later, run


def at(row: Run, done: float, unit: str = "epochs", **length: float) -> None:
    """One look at a run that runs, with the progress that its log shows."""
    row.progress = {"done": done, "total": 10, "unit": unit}
    note_epochs(row, RunPhase.RUNNING, later(**length))


def running(nodes: int) -> Run:
    """An elastic run on so many nodes."""
    return run(phase=RunPhase.RUNNING, pods_running=nodes)


def test_whole_epochs_are_timed_after_first() -> None:
    row = running(2)
    for seconds, done in ((0, 0.0), (30, 0.2), (90, 0.6), (130, 1.1), (230, 2.1), (430, 4.0)):
        at(row, done, seconds=seconds)
    assert epoch_times(row) == {2: EpochTime(3, 300.0)}


def test_an_epoch_on_changed_nodes_is_not_timed() -> None:
    row = running(1)
    for seconds, done in ((0, 0.0), (300, 1.0), (600, 2.0)):
        at(row, done, seconds=seconds)
    row.pods_running = 3
    for seconds, done in ((700, 2.5), (800, 3.0), (900, 4.0), (1000, 5.0)):
        at(row, done, seconds=seconds)
    row.pods_running = 1
    for seconds, done in ((1030, 5.0), (1250, 6.0), (1570, 7.0)):
        at(row, done, seconds=seconds)
    assert epoch_times(row) == {1: EpochTime(2, 620.0), 3: EpochTime(2, 200.0)}


def test_nodes_that_changed_between_epochs_are_noticed() -> None:
    row = running(1)
    at(row, 1, seconds=0)
    at(row, 2, seconds=100)
    row.pods_running = 3
    at(row, 2, seconds=120)
    row.pods_running = 1
    at(row, 2, seconds=150)
    at(row, 3, seconds=170)
    assert epoch_times(row) == {}


def test_a_validation_bar_takes_nothing_back() -> None:
    row = running(1)
    for seconds, done in ((0, 1.0), (100, 2.0), (190, 2.99), (195, 2.2), (200, 3.0)):
        at(row, done, seconds=seconds)
    assert epoch_times(row) == {1: EpochTime(1, 100.0)}


def test_what_a_restart_repeats_is_not_timed() -> None:
    row = running(1)
    for seconds, done in ((0, 1), (100, 2), (200, 3), (260, 1), (360, 2), (460, 3)):
        at(row, done, seconds=seconds)
    assert epoch_times(row) == {1: EpochTime(2, 200.0)}
    row.restarts += 1
    at(row, 3, seconds=500)
    at(row, 4, seconds=900)
    at(row, 5, seconds=1000)
    assert epoch_times(row) == {1: EpochTime(3, 300.0)}


def test_the_time_of_a_preemption_is_not_counted() -> None:
    row = running(1)
    for seconds, done in ((0, 1), (100, 2), (200, 3)):
        at(row, done, seconds=seconds)
    row.phase = RunPhase.PREEMPTED
    at(row, 3, seconds=250)
    row.phase = RunPhase.RUNNING
    note_epochs(row, RunPhase.PREEMPTED, later(seconds=5000))
    at(row, 4, seconds=5100)
    at(row, 5, seconds=5200)
    at(row, 6, seconds=5300)
    assert epoch_times(row) == {1: EpochTime(2, 200.0)}


def test_the_last_epoch_ends_with_its_run() -> None:
    row = running(1)
    at(row, 1, seconds=0)
    at(row, 2, seconds=100)
    row.phase, row.ended_at = RunPhase.SUCCEEDED, later(seconds=180)
    at(row, 3, seconds=240)
    assert epoch_times(row) == {1: EpochTime(1, 80.0)}


def test_steps_are_no_epochs() -> None:
    row = running(1)
    for seconds, done in ((0, 1), (100, 2), (200, 3)):
        at(row, done, "steps", seconds=seconds)
    assert (row.epochs, epoch_times(row)) == ({}, {})
