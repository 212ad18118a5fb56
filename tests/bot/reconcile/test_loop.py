"""The due loop: one step at a time, poison does not spread, wake-ups are not lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from structlog.testing import capture_logs
from typing_extensions import override

from bot.clock import Clock
from bot.database.database import Database, Session
from bot.errors import ClusterError
from bot.reconcile import due
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import Due
from bot.reconcile.loop import Loop
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS
from tests.bot.odd_clock import OddClock


class Rows:
    """A controller that does what a test tells it, and keeps what happened."""

    kind = "run"

    def __init__(self, act: Callable[[str], Step]) -> None:
        self._act = act
        self.seen: list[str] = []
        self.troubles: list[tuple[str, Trouble]] = []
        self._changed = threading.Condition()

    def step(self, row_id: str) -> Step:
        with self._changed:
            self.seen.append(row_id)
            self._changed.notify_all()
        return self._act(row_id)

    def on_failure(self, _session: Session, row_id: str, trouble: Trouble) -> None:
        with self._changed:
            self.troubles.append((row_id, trouble))
            self._changed.notify_all()

    def until(self, holds: Callable[["Rows"], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self), timeout=PATIENCE_SECONDS)


@contextmanager
def running(database: Database, rows: Rows, clock: Clock | None = None) -> Iterator[Loop]:
    loop = Loop(database, clock or Clock(), [rows])
    loop.start()
    try:
        yield loop
    finally:
        loop.stop()


def wake(database: Database, row: str, lane: str = "lane") -> None:
    now = Clock().now()
    database.transaction(lambda session: due.wake(session, "run", row, lane, now))


def rest(_row: str) -> Step:
    return Step(None)


def test_a_woken_row_gets_its_step_at_once(database: Database) -> None:
    rows = Rows(rest)
    with running(database, rows):
        wake(database, "a")
        rows.until(lambda r: r.seen == ["a"])


def test_a_wake_during_a_step_brings_another(database: Database) -> None:
    def wake_myself(row: str) -> Step:
        if len(rows.seen) == 1:
            wake(database, row)
        return Step(None)

    rows = Rows(wake_myself)
    with running(database, rows):
        wake(database, "a")
        rows.until(lambda r: r.seen == ["a", "a"])


def test_poison_backs_off_and_blocks_nobody(database: Database) -> None:
    def act(row: str) -> Step:
        if row == "poison":
            raise ZeroDivisionError
        return Step(None)

    rows = Rows(act)
    with running(database, rows):
        wake(database, "poison")
        rows.until(lambda r: len(r.troubles) == 1)
        wake(database, "healthy")
        rows.until(lambda r: "healthy" in r.seen)
    row, trouble = rows.troubles[0]
    assert row == "poison"
    assert trouble.attempts == 1
    assert trouble.sentence.startswith("Something went wrong on our side. Reference ")
    kept = database.read(lambda session: session.get_one(Due, ("run", "poison")))
    assert kept.attempts >= 1
    assert kept.token is None


def test_an_outside_failure_is_told_in_its_words(database: Database) -> None:
    def act(_row: str) -> Step:
        raise ClusterError("The cluster did not answer.")

    rows = Rows(act)
    loop = Loop(database, Clock(), [rows])
    wake(database, "a")
    assert loop.run_due() == 1
    loop.stop()
    assert rows.troubles == [("a", Trouble("The cluster did not answer.", 1))]


def test_a_step_with_room_beside_brings_no_look(database: Database) -> None:
    rows = Rows(rest)
    loop = Loop(database, Clock(), [rows], workers=4, per_lane=2)
    for woken, looks_again in ((1, False), (2, True)):
        for number in range(woken):
            wake(database, f"row{number}")
        loop._nudged = False
        assert loop.run_due() == woken
        assert loop._nudged is looks_again
    loop.stop()


class Meanwhile(Clock):
    """A clock by which something else happens while somebody asks for the time."""

    happens: Callable[[], object] | None = None

    @override
    def now(self) -> datetime:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().now()


def test_a_step_ending_amid_looks_brings_another(database: Database) -> None:
    rows, clock = Rows(rest), Meanwhile()
    loop = Loop(database, clock, [rows], workers=4, per_lane=2)
    wake(database, "before")
    (held,) = loop._claim(4)
    for row in ("next", "last"):  # there is room for one of them when the look begins
        wake(database, row)
    loop._nudged = False
    clock.happens = partial(loop._step, held)
    loop._take(4)
    assert rows.seen == ["before"]
    assert loop._nudged
    loop.stop()


def test_a_dead_lane_leaves_workers_for_others(database: Database) -> None:
    stuck = threading.Event()

    def act(row: str) -> Step:
        if row.startswith("dead"):
            stuck.wait(PATIENCE_SECONDS)
        return Step(None)

    rows = Rows(act)
    with running(database, rows):
        for number in range(10):
            wake(database, f"dead{number}", "cluster:dead")
        rows.until(lambda r: len(r.seen) == 4)
        wake(database, "alive", "cluster:alive")
        rows.until(lambda r: "alive" in r.seen)
        assert sum(row.startswith("dead") for row in rows.seen) == 4
        stuck.set()
        rows.until(lambda r: len(r.seen) == 11)


def test_two_processes_never_share_a_row(database: Database) -> None:
    inside: set[str] = set()
    clashes: list[str] = []
    lock = threading.Lock()

    def act(row: str) -> Step:
        with lock:
            if row in inside:
                clashes.append(row)
            inside.add(row)
        with lock:
            inside.discard(row)
        return Step(None)

    rows = Rows(act)
    with running(database, rows), running(database, rows):
        for number in range(40):
            wake(database, f"row{number}")
        rows.until(lambda r: set(r.seen) == {f"row{number}" for number in range(40)})
    assert clashes == []


def test_a_shifted_clock_makes_rows_due(database: Database) -> None:
    clock = Clock()
    tomorrow = clock.now() + timedelta(days=1)
    rows = Rows(lambda _row: Step(tomorrow if len(rows.seen) == 1 else None))
    with running(database, rows, clock) as loop:
        wake(database, "a")
        rows.until(lambda r: r.seen == ["a"])
        clock.shift(timedelta(days=1))
        loop.nudge()
        rows.until(lambda r: r.seen == ["a", "a"])


def test_a_claim_that_breaks_is_followed_by_another(database: Database) -> None:
    rows = Rows(rest)
    wake(database, "a")
    with running(database, rows, OddClock()):
        rows.until(lambda r: r.seen == ["a"])


class Confused(Rows):
    """A controller that cannot even note that its step failed."""

    @override
    def on_failure(self, _session: Session, row_id: str, trouble: Trouble) -> None:
        raise KeyError(row_id)


def test_a_note_that_breaks_still_backs_off(database: Database) -> None:
    def act(_row: str) -> Step:
        raise ClusterError("The cluster did not answer.")

    loop = Loop(database, Clock(), [Confused(act)])
    wake(database, "a")
    before = Clock().now()
    with capture_logs() as logs:
        assert loop.run_due() == 1
    kept = database.read(lambda session: session.get_one(Due, ("run", "a")))
    assert (kept.attempts, kept.token, kept.lease_until) == (1, None, None)
    assert kept.due_at is not None
    assert kept.due_at > before
    broke = next(
        entry for entry in logs if entry["event"] == "storing a failed step failed unexpectedly"
    )
    assert (broke["row"], len(broke["reference"])) == ("a", 6)
    assert isinstance(broke["exc_info"], KeyError)
    assert loop.is_idle()
    loop.stop()
