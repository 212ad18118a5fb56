"""Rows that are due: claimed once, given back, never forgotten."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from bot.database.database import Database, Session
from bot.reconcile import due
from bot.reconcile.due import Claim, ClaimQuery, LostClaimError
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
SOON = NOW + timedelta(seconds=10)
WANTED = ClaimQuery(("run",), most=10, per_lane=10)


def claim(database: Database, now: datetime = NOW, real: datetime = NOW) -> list[Claim]:
    return database.transaction(lambda session: due.claim(session, WANTED, now, real))


def wake(database: Database, row: str = "a", now: datetime = NOW) -> None:
    database.transaction(lambda session: due.wake(session, "run", row, "cluster:x", now))


def test_a_woken_row_is_claimed_once(database: Database) -> None:
    wake(database)
    (held,) = claim(database)
    assert (held.kind, held.id, held.lane, held.wakes, held.attempts) == (
        "run", "a", "cluster:x", 1, 0,
    )  # fmt: skip
    assert claim(database) == []


def test_a_settled_row_rests_until_its_time(database: Database) -> None:
    wake(database)
    (held,) = claim(database)
    database.transaction(lambda session: due.settle(session, held, SOON, NOW))
    assert claim(database) == []
    assert [c.id for c in claim(database, now=SOON)] == ["a"]


def test_a_row_at_rest_comes_back_when_woken(database: Database) -> None:
    wake(database)
    (held,) = claim(database)
    database.transaction(lambda session: due.settle(session, held, None, NOW))
    assert claim(database, now=NOW + timedelta(days=365)) == []
    wake(database, now=SOON)
    assert [c.wakes for c in claim(database, now=SOON)] == [2]


def test_a_wake_during_a_step_is_kept(database: Database) -> None:
    wake(database)
    (held,) = claim(database)
    wake(database)
    database.transaction(lambda session: due.settle(session, held, None, NOW))
    assert [c.wakes for c in claim(database)] == [2]


def test_only_due_rows_have_the_loop_look(database: Database) -> None:
    """After most steps there is nothing to claim, which a transaction would find out."""
    heard: list[frozenset[str]] = []
    database.on_commit(heard.append)
    for again, wakes_meanwhile, topics in (
        (SOON, False, frozenset[str]()),
        (None, False, frozenset[str]()),
        (NOW, False, {due.TOPIC}),
        (SOON, True, {due.TOPIC}),
    ):
        wake(database)
        (held,) = claim(database)
        if wakes_meanwhile:
            wake(database)
        heard.clear()
        database.transaction(partial(due.settle, held=held, again=again, now=NOW))
        assert frozenset[str]().union(*heard) == topics


def test_a_claim_left_behind_is_taken_over(database: Database) -> None:
    wake(database)
    (left,) = claim(database)
    late = NOW + due.LEASE + timedelta(seconds=1)
    (taken,) = claim(database, real=late)
    assert taken.token != left.token
    with pytest.raises(LostClaimError):
        database.transaction(lambda session: due.settle(session, left, None, NOW))
    database.transaction(lambda session: due.settle(session, taken, None, NOW))


def test_failures_are_counted_until_a_success(database: Database) -> None:
    wake(database)
    for attempts in (0, 1, 2):
        (held,) = claim(database)
        assert held.attempts == attempts
        database.transaction(partial(due.back_off, held=held, again=NOW, now=NOW))
    (held,) = claim(database)
    database.transaction(lambda session: due.settle(session, held, NOW, NOW))
    assert [c.attempts for c in claim(database)] == [0]


def test_unknown_kinds_and_full_lanes_are_left_alone(database: Database) -> None:
    def fill(session: Session) -> None:
        due.wake(session, "future", "x", "cluster:x", NOW)
        due.wake(session, "run", "y", "cluster:full", NOW)
        due.wake(session, "run", "z", "cluster:free", NOW)

    database.transaction(fill)
    wanted = ClaimQuery(("run",), most=10, per_lane=4, busy={"cluster:full": 4})
    claims = database.transaction(lambda session: due.claim(session, wanted, NOW, NOW))
    assert [c.id for c in claims] == ["z"]


def test_a_crowded_lane_hides_nobody(database: Database) -> None:
    def fill(session: Session) -> None:
        for number in range(30):
            due.wake(session, "run", f"dead{number:02}", "cluster:dead", NOW)
        due.wake(session, "run", "alive", "cluster:alive", SOON)

    database.transaction(fill)
    wanted = ClaimQuery(("run",), most=10, per_lane=2, busy={"cluster:dead": 1})
    claims = database.transaction(lambda session: due.claim(session, wanted, SOON, NOW))
    assert [c.id for c in claims] == ["dead00", "alive"]


def test_earliest_and_lag_name_what_waits(database: Database) -> None:
    assert database.read(lambda session: due.earliest(session, ("run",))) is None
    wake(database, now=NOW)
    wake(database, "b", now=SOON)
    assert database.read(lambda session: due.earliest(session, ("run",))) == NOW
    later = NOW + timedelta(seconds=25)
    assert database.read(lambda session: due.lag(session, later)) == {"run": timedelta(seconds=25)}
