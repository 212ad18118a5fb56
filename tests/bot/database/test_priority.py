"""Requests of people go first, and work in the background goes on all the same."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from bot.database.database import Database
from bot.database.priority import LINGER_SECONDS, LONGEST_WAIT_SECONDS, ForegroundGate
from bot.reconcile.due import wake
from tests.bot.reconcile.test_due import NOW

LONG_SECONDS = 60.0


def wait_until_it_waits(gate: ForegroundGate, work: "Future[None]") -> None:
    while not gate._idle._waiters and not work.done():  # type: ignore[attr-defined]  # not public
        threading.Event().wait(0.001)


def test_background_work_waits_for_requests(database: Database) -> None:
    gate, order = database.gate, list[str]()

    def work() -> None:
        database.transaction(lambda session: wake(session, "run", "a", "lane", NOW))
        order.append("work")

    with ThreadPoolExecutor(1) as pool:
        with gate.foreground():
            in_background = pool.submit(work)
            wait_until_it_waits(gate, in_background)
            soon = time.monotonic() + LONG_SECONDS
            database.transaction(
                lambda session: wake(session, "run", "b", "lane", NOW), deadline=soon
            )
            order.append("answer")
        in_background.result(LONG_SECONDS)
    assert order == ["answer", "work"]


def test_background_work_proceeds_under_any_load() -> None:
    gate, began = ForegroundGate(), time.monotonic()
    with gate.foreground(), ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(gate.yield_to_foreground) for _ in range(4)]:
            each.result(LONG_SECONDS)
    assert time.monotonic() - began >= LONGEST_WAIT_SECONDS


def test_background_work_waits_for_the_last_request() -> None:
    gate = ForegroundGate()
    with ThreadPoolExecutor(1) as pool, gate.foreground():
        with gate.foreground():
            work = pool.submit(gate.yield_to_foreground)
            wait_until_it_waits(gate, work)
        assert not work.done()
    work.result(LONG_SECONDS)


def test_background_work_leaves_room_for_the_next() -> None:
    gate = ForegroundGate()
    with gate.foreground():
        ended = time.monotonic()
    gate.yield_to_foreground()
    assert LINGER_SECONDS <= time.monotonic() - ended < LONGEST_WAIT_SECONDS


def test_without_requests_nothing_waits() -> None:
    gate, began = ForegroundGate(), time.monotonic()
    gate.yield_to_foreground()
    assert time.monotonic() - began < LONGEST_WAIT_SECONDS
