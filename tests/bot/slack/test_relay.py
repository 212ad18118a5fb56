"""Tasks go one after the other, and past one that is held up."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait

import pytest

from bot.slack.relay import Relay

LONG_SECONDS, SHORT_SECONDS = 60.0, 0.05


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a task can be held up by; it opens when the test ends."""
    event = threading.Event()
    yield event
    event.set()


def held_up(relay: Relay, gate: threading.Event) -> "Future[bool]":
    """A task that has begun, and ends when the gate is opened."""
    begun = threading.Event()

    def work() -> bool:
        begun.set()
        return gate.wait(LONG_SECONDS)

    future = relay.submit(work)
    assert begun.wait(LONG_SECONDS)
    return future


def test_tasks_begin_once_others_have_ended(gate: threading.Event) -> None:
    relay = Relay("test", patience_seconds=LONG_SECONDS)
    first, second = held_up(relay, gate), relay.submit(str, 2)
    assert not wait([second], SHORT_SECONDS).done
    gate.set()
    assert (first.result(LONG_SECONDS), second.result(LONG_SECONDS)) == (True, "2")
    relay.shutdown()


def test_others_pass_a_task_held_up(gate: threading.Event) -> None:
    relay = Relay("test", patience_seconds=SHORT_SECONDS)
    stuck = [held_up(relay, gate), held_up(relay, gate)]
    assert [relay.submit(str, number).result(LONG_SECONDS) for number in range(3)] == list("012")
    assert not any(each.done() for each in stuck)
    gate.set()
    relay.shutdown()


def test_a_task_begins_while_threads_rest(gate: threading.Event) -> None:
    relay = Relay("test", patience_seconds=LONG_SECONDS)
    held_up(relay, gate)
    watched = relay.submit(str, 1)
    gate.set()
    assert watched.result(LONG_SECONDS) == "1"
    # One thread would still watch the first task for a minute.
    assert relay.submit(str, 2).result(LONG_SECONDS / 2) == "2"
    relay.shutdown()


def test_without_patience_several_run_at_once(gate: threading.Event) -> None:
    relay = Relay("test", most=2)
    held_up(relay, gate)
    held_up(relay, gate)
    third = relay.submit(str, 3)
    assert not wait([third], SHORT_SECONDS).done
    gate.set()
    assert third.result(LONG_SECONDS) == "3"
    relay.shutdown()


def test_every_task_is_done_once() -> None:
    relay, done = Relay("test", patience_seconds=0.0001, most=8), list[int]()

    def submit(first: int) -> None:
        for number in range(first, first + 200):
            relay.submit(done.append, number)

    threads = [threading.Thread(target=submit, args=(200 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    relay.shutdown()
    assert sorted(done) == list(range(800))


def test_a_task_that_fails_stops_nothing() -> None:
    relay = Relay("test", patience_seconds=LONG_SECONDS)
    with pytest.raises(ValueError, match="invalid literal"):
        relay.submit(int, "x").result(LONG_SECONDS)
    assert relay.submit(int, "1").result(LONG_SECONDS) == 1
    relay.shutdown()


def test_after_its_end_nothing_is_taken(gate: threading.Event) -> None:
    relay = Relay("test", patience_seconds=LONG_SECONDS)
    first, second = held_up(relay, gate), relay.submit(str, 2)
    relay.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="it was shut down"):
        relay.submit(str, 3)
    gate.set()
    relay.shutdown()
    assert (first.result(0), second.result(0)) == (True, "2")


def test_what_waits_can_be_dropped(gate: threading.Event) -> None:
    relay = Relay("test", patience_seconds=LONG_SECONDS)
    first, second = held_up(relay, gate), relay.submit(str, 2)
    relay.shutdown(wait=False, cancel_futures=True)
    gate.set()
    relay.shutdown()
    assert first.result(0)
    with pytest.raises(CancelledError):
        second.result(0)
