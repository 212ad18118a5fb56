"""Threads that the bot cannot do without: one pass may raise, and a dead one is told."""

import time
from collections.abc import Callable
from functools import partial
from threading import Event

import pytest
from typing_extensions import override

from bot.threads import EssentialThread, Workers, troubles
from tests.bot.slack.receiving.dispatchers import Gate, wait_until


def endless(make_pass: Callable[[], object], **limits: float) -> EssentialThread:
    return EssentialThread("loop", make_pass, **limits)


def test_a_pass_that_raises_is_followed_by_another() -> None:
    passes: list[int] = []

    def make_pass() -> None:
        passes.append(len(passes))
        if len(passes) == 1:
            raise RuntimeError("can't start new thread")
        thread.stopping.wait(0.01)

    thread = endless(make_pass)
    thread.start()
    wait_until(lambda: len(passes) > 2)
    assert troubles([thread]) == {}
    thread.stop()
    thread.join()


def test_a_thread_that_died_says_so() -> None:
    def make_pass() -> None:
        raise SystemExit

    thread = endless(make_pass)
    assert thread.trouble() is None
    thread.start()
    thread.join()
    assert troubles([thread]) == {"loop": "It has ended unexpectedly."}
    thread.stop()
    assert troubles([thread]) == {}


def test_a_stuck_pass_is_told_with_its_limit() -> None:
    gate = Gate()
    thread = endless(gate.wait, limit_seconds=0.05)
    thread.start()
    wait_until(thread.trouble)
    assert thread.trouble() == "It has completed no pass for 0 s; its limit is 0 s."
    thread.beat()
    assert thread.trouble() is None
    thread.stop()
    gate.opened.set()
    thread.join()


def test_passes_that_all_raise_are_told_too() -> None:
    def make_pass() -> None:
        raise ZeroDivisionError

    thread = endless(make_pass, limit_seconds=0.05)
    thread.start()
    wait_until(thread.trouble)
    assert thread.is_alive
    thread.stop()
    thread.join()


def test_workers_outlive_what_their_work_raises() -> None:
    workers, done = Workers("work", 1, limit_seconds=60), Event()
    workers.start()
    workers.begin(lambda: 1 // 0)
    workers.begin(done.set)
    assert done.wait(60)
    assert workers.submit(lambda: 1).result() == 1
    assert troubles(workers.threads) == {}
    workers.shutdown()
    assert troubles(workers.threads) == {}


def test_workers_finish_what_waits_before_they_end() -> None:
    workers, done = Workers("work", 2, limit_seconds=60), list[int]()
    for number in range(5):
        workers.begin(partial(done.append, number))
    workers.start()
    workers.shutdown()
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert not any(thread.is_alive for thread in workers.threads)


def test_workers_that_miss_work_wait_no_longer() -> None:
    """At the end of its wait, another worker is often quicker: this one holds the processor."""
    idle_seconds, many = 0.005, 400
    workers = Workers("work", 16, limit_seconds=60, idle_seconds=idle_seconds)
    workers.start()
    for number in range(many):
        workers.begin(int)
        next_at = time.monotonic() + idle_seconds * (0.75 + 0.3 * number / many)
        while time.monotonic() < next_at:
            pass
    ended_at = time.monotonic()
    wait_until(lambda: all((thread.passed_at or 0) > ended_at for thread in workers.threads))
    workers.shutdown()


def test_work_after_the_last_thread_is_refused() -> None:
    class Late(Workers):
        @override
        def begin(self, work: Callable[[], object]) -> None:
            self.shutdown()  # all threads end before this work is queued
            super().begin(work)

    workers = Late("late", 2, limit_seconds=10)
    workers.start()
    with pytest.raises(RuntimeError, match="it was stopped"):
        workers.submit(lambda: None)
