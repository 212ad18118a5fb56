"""People who wait go first, and what nobody waits for goes on all the same."""

import itertools
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from bot.database.database import Database
from bot.reconcile.due import wake
from bot.turns import ForegroundGate, PriorityLock
from tests.bot.reconcile.test_due import NOW
from tests.watches import Watch

LONG_SECONDS, SHORT_SECONDS = 60.0, 0.1
WAITERS = 14


def queue_up(turns: PriorityLock, order: list[str], *kinds: str) -> list[Future[None]]:
    """Waiters that write down when they had their turn; they all wait when this returns."""

    def wait(kind: str) -> None:
        assert turns.take(LONG_SECONDS, hurried=kind == "hurried")
        order.append(kind)
        turns.give_back()

    pool = ThreadPoolExecutor(WAITERS)
    futures = [pool.submit(wait, kind) for kind in kinds]
    while turns._hurried_waiting + turns._patient_waiting < len(kinds):
        threading.Event().wait(0.001)
    pool.shutdown(wait=False)
    return futures


def test_hurried_writers_go_before_patient_ones() -> None:
    turns, order = PriorityLock(), list[str]()
    assert turns.take(0, hurried=False)
    futures = queue_up(turns, order, "patient", "patient", "hurried", "hurried")
    turns.give_back()
    for future in futures:
        future.result(LONG_SECONDS)
    assert order == ["hurried", "hurried", "patient", "patient"]


def test_after_eight_hurried_comes_a_patient_one() -> None:
    turns, order = PriorityLock(), list[str]()
    assert turns.take(0, hurried=False)
    futures = queue_up(turns, order, "patient", *["hurried"] * 12)
    turns.give_back()
    for future in futures:
        future.result(LONG_SECONDS)
    assert order == [*["hurried"] * 8, "patient", *["hurried"] * 4]


def test_a_turn_that_never_comes_is_given_up() -> None:
    turns = PriorityLock()
    assert turns.take(0, hurried=True)
    assert not turns.take(0.01, hurried=True)
    assert not turns.take(0.01, hurried=False)
    turns.give_back()
    assert turns.take(0, hurried=False)


def held_up(courtesy: ForegroundGate) -> None:
    """As if much work had been done just now, so that more of it has to rest for long."""
    courtesy._free_at = time.monotonic() + LONG_SECONDS


def wait_until_it_rests(courtesy: ForegroundGate, work: Future[None]) -> None:
    while not courtesy._calm._waiters and not work.done():  # type: ignore[attr-defined]  # not public
        threading.Event().wait(0.001)


def test_work_rests_until_nobody_waits(database: Database) -> None:
    courtesy, order = database.courtesy, list[str]()

    def work() -> None:
        database.transaction(lambda session: wake(session, "run", "a", "lane", NOW))
        order.append("work")

    with ThreadPoolExecutor(1) as pool:
        with courtesy.foreground():
            held_up(courtesy)
            under_way = pool.submit(work)
            wait_until_it_rests(courtesy, under_way)
            soon = time.monotonic() + LONG_SECONDS
            database.transaction(
                lambda session: wake(session, "run", "b", "lane", NOW), deadline=soon
            )
            order.append("answer")
        under_way.result(LONG_SECONDS)
    assert order == ["answer", "work"]


def test_work_gets_on_while_people_wait() -> None:
    courtesy = ForegroundGate(worked=itertools.count(step=0.001).__next__)

    def work() -> None:
        for _ in range(5):
            courtesy.yield_to_foreground()

    with courtesy.foreground(), ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(work) for _ in range(4)]:
            each.result(LONG_SECONDS)


def test_spells_together_take_a_fifth() -> None:
    courtesy = ForegroundGate(monotonic=lambda: 100.0)
    assert [courtesy._seconds_to_rest(0.01) for _ in range(3)] == [
        pytest.approx(0.04),
        pytest.approx(0.09),
        pytest.approx(0.14),
    ]


def test_in_a_crowd_spells_take_less() -> None:
    courtesy = ForegroundGate(monotonic=lambda: 100.0)
    with courtesy.foreground(), courtesy.foreground(), courtesy.foreground():
        assert courtesy._seconds_to_rest(0.01) == pytest.approx(0.24)
    assert courtesy._seconds_to_rest(0.01) == pytest.approx(0.29)


def test_ten_in_a_second_are_a_crowd() -> None:
    watch = Watch()
    for apart, rest in ((0.125, 0.04), (0.0625, 0.24)):
        courtesy = ForegroundGate(monotonic=watch)
        for _ in range(10):
            with courtesy.foreground():
                watch.seconds += apart
        assert courtesy._seconds_to_rest(0.01) == pytest.approx(rest)


@pytest.mark.parametrize(("spent", "apart"), [(0.0005, 0.0025), (0.001, 0.02), (0.01, 0.05)])
def test_all_but_events_begin_some_time_apart(spent: float, apart: float) -> None:
    courtesy = ForegroundGate(monotonic=lambda: 100.0)
    first, second = (courtesy._seconds_to_rest(spent) for _ in range(2))
    assert [first, second - first] == [pytest.approx(apart - spent), pytest.approx(apart)]


def test_nobody_rests_longer_than_two_seconds() -> None:
    courtesy = ForegroundGate(monotonic=lambda: 100.0)
    with courtesy.foreground(), courtesy.foreground(), courtesy.foreground():
        assert [courtesy._seconds_to_rest(0.05) for _ in range(3)] == [
            pytest.approx(1.2),
            pytest.approx(2.0),
            pytest.approx(2.0),
        ]


def test_a_long_spell_counts_in_part() -> None:
    courtesy = ForegroundGate(worked=itertools.count(step=7.0).__next__)
    courtesy.yield_to_foreground()
    assert courtesy._spent() == 0.05


@pytest.mark.parametrize(("spent", "begun"), [(0.0005, 1), (0.001, 0)])
def test_long_spells_begin_right_after_an_answer(spent: float, begun: int) -> None:
    watch = Watch()
    courtesy = ForegroundGate(watch, itertools.count(step=spent).__next__)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(courtesy.yield_to_foreground).result(LONG_SECONDS)
        with courtesy.foreground():
            pass
        work = pool.submit(courtesy.yield_to_foreground)
        wait_until_it_rests(courtesy, work)
        watch.seconds += 0.02
        assert len(wait([work], LONG_SECONDS if begun else SHORT_SECONDS).done) == begun
        with courtesy.foreground():
            pass
        work.result(LONG_SECONDS)


def test_work_rests_a_moment_longer_than_people() -> None:
    watch = Watch()
    courtesy = ForegroundGate(monotonic=watch)
    with courtesy.foreground():
        assert courtesy._seconds_to_calm() == float("inf")
    assert courtesy._seconds_to_calm() == pytest.approx(0.03)
    watch.seconds += 0.03
    assert courtesy._seconds_to_calm() <= 0


def test_rest_is_forgotten_once_nobody_waits() -> None:
    watch = Watch()
    courtesy = ForegroundGate(monotonic=watch)
    with courtesy.foreground():
        held_up(courtesy)
    watch.seconds += 1
    courtesy.yield_to_foreground()
    assert courtesy._seconds_to_rest(0.0) <= 0
