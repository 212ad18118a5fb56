"""What is kept of a log whose node begins a new file now and then."""

from datetime import datetime, timedelta

import pytest

from bot.training.logs.reads import LogRequest
from bot.training.logs.tails import joined
from playground.cluster.control.training import Line, Training
from tests.bot.training.rig import IMAGE, Rig


def loud(training: Training, started: datetime, until: datetime) -> list[Line]:
    """Says 3 MB/s in long lines for a minute, and its last words at the end."""
    lasts = training.fails_after or 0
    seconds = min((until - started).total_seconds(), lasts)
    long = "x" * 15_000
    said = [
        (
            started + timedelta(seconds=number / 200),
            f"step {number} loss {1 / (1 + number):.5f} {long}",
        )
        for number in range(int(seconds * 200))
    ]
    if (until - started).total_seconds() >= lasts:
        said += [(until, "Traceback (most recent call last):"), (until, "KeyError: 'epoch'")]
    return said


@pytest.mark.parametrize(
    ("before", "now", "both"),
    [
        ([], ["a"], ["a"]),
        (["a"], ["a", "b"], ["a", "b"]),
        (["a", "b"], ["a", "bar 2%", "c"], ["a", "bar 2%", "c"]),
        (["bar 1%"], ["bar 2%"], ["bar 2%"]),
        (["a", "b"], ["c"], ["a", "b", "c"]),
        (["a", "b", "c"], ["b", "c", "d"], ["a", "b", "c", "d"]),
        (["a", "b"], [], ["a", "b"]),
        (["a"], [], ["a"]),
    ],
)
def test_a_new_file_follows_what_was_read(
    before: list[str], now: list[str], both: list[str]
) -> None:
    assert joined(before, now) == both


@pytest.mark.slow
def test_three_megabytes_a_second_lose_no_end(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(fails_after=25, log=loud)
    run_id = rig.submit()
    rig.pass_time(seconds=20)
    live = rig.reads.log_tail(rig.get(run_id), LogRequest(50))
    assert len(live.lines) == 50
    assert live.lines[-1].startswith("step ")
    rig.pass_time(minutes=12)
    run = rig.get(run_id)
    assert (run.phase, run.last_line) == ("failed", "KeyError: 'epoch'")
    assert run.results["loss"] == "0.00020"
    assert "Traceback (most recent call last):\nKeyError: 'epoch'" in rig.notes(run_id)["ended"]


def test_a_new_file_hides_nothing_that_was_read(rig: Rig) -> None:
    def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
        """Twelve megabytes in the first forty seconds, and then a line every ten."""
        seconds = int((until - started).total_seconds())
        long = f"{'x' * 15_000}\n" * 20
        loud = [(n, f"{long}step {n}") for n in range(min(seconds, 40))]
        quiet = [(n, f"step {n}") for n in range(43, seconds, 10)]
        return [(started + timedelta(seconds=n), text) for n, text in (*loud, *quiet)]

    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit()
    rig.pass_time(seconds=90)
    shown = rig.reads.log_tail(rig.get(run_id), LogRequest(12)).lines
    steps = [int(line.removeprefix("step ")) for line in shown if line.startswith("step")]
    assert steps[-5:] == [43, 53, 63, 73, 83]
    assert 25 <= steps[-6] < 40


def test_figures_are_heard_among_many_lines(rig: Rig) -> None:
    def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
        """A figure each second, and a thousand lines after it that tell none."""
        seconds = int((until - started).total_seconds())
        other = "\n".join(f"worker {number} fetched a shard" for number in range(1_000))
        return [
            (started + timedelta(seconds=n), f"step {n}/900 loss {1 / (1 + n):.4f}\n{other}")
            for n in range(seconds)
        ]

    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    run = rig.get(run_id)
    assert run.read_at is not None
    seconds = int((run.read_at - (run.started_at or run.read_at)).total_seconds())
    assert run.results["loss"] in {f"{1 / (seconds - each):.4f}" for each in (0, 1)}
    assert run.progress is not None
    assert seconds - 2 <= run.progress["done"] <= seconds
    kept = rig.reads.log_tail(rig.get(run_id), LogRequest(10_000))
    assert run.last_line == "worker 999 fetched a shard"
    assert len(kept.lines) > 1_000


def test_what_the_node_has_is_shown_once(rig: Rig) -> None:
    def log(_training: Training, started: datetime, until: datetime) -> list[Line]:
        seconds = int((until - started).total_seconds())
        return [(started + timedelta(seconds=n / 10), f"step {n}") for n in range(seconds * 10)]

    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    for lines in (50, 150, 250, 5_000):
        shown = rig.reads.log_tail(rig.get(run_id), LogRequest(lines)).lines
        last = int(shown[-1].removeprefix("step "))
        first = max(0, last + 1 - lines)
        assert list(shown) == [f"step {number}" for number in range(first, last + 1)]
