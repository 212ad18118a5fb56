"""Questions are answered one after the other, past one that is held up, and some together."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from functools import partial
from typing import Any

import pytest

from bot.slack.relay import BatchExecutor

LONG_SECONDS, SHORT_SECONDS = 60.0, 0.05

Question = Callable[[], Any]


def each(questions: Iterator[Question]) -> Iterator[Any]:
    """Answers one before it asks for the next."""
    for question in questions:
        yield question()


def all_at_once(questions: Iterator[Question]) -> Iterator[Any]:
    """Asks for all that there are before it answers the first, with how many there were."""
    asked = list(questions)
    for question in asked:
        yield question(), len(asked)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a question can be held up by; it opens when the test ends."""
    event = threading.Event()
    yield event
    event.set()


def held_up(relay: BatchExecutor[Question, Any], gate: threading.Event) -> "Future[Any]":
    """A question that has begun to be answered, which ends when the gate is opened."""
    begun = threading.Event()

    def work() -> bool:
        begun.set()
        return gate.wait(LONG_SECONDS)

    future = relay.submit(work)
    assert begun.wait(LONG_SECONDS)
    return future


def asked(relay: BatchExecutor[Question, Any], *texts: object) -> "list[Future[Any]]":
    return [relay.submit(partial(int, text)) for text in texts]


def test_questions_begin_once_others_have_ended(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, patience_seconds=LONG_SECONDS)
    first, (second,) = held_up(relay, gate), asked(relay, 2)
    assert not wait([second], SHORT_SECONDS).done
    gate.set()
    assert (first.result(LONG_SECONDS), second.result(LONG_SECONDS)) == (True, 2)
    relay.stop()


def test_others_pass_a_question_held_up(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, patience_seconds=SHORT_SECONDS, together=8)
    stuck = [held_up(relay, gate), held_up(relay, gate)]
    assert [future.result(LONG_SECONDS) for future in asked(relay, 0, 1, 2)] == [0, 1, 2]
    assert not any(future.done() for future in stuck)
    gate.set()
    relay.stop()


def test_a_question_begins_while_threads_rest(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, patience_seconds=LONG_SECONDS)
    held_up(relay, gate)
    (watched,) = asked(relay, 1)
    gate.set()
    assert watched.result(LONG_SECONDS) == 1
    # One thread would still watch the first question for a minute.
    assert asked(relay, 2)[0].result(LONG_SECONDS / 2) == 2
    relay.stop()


def test_without_patience_several_run_at_once(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, most=2)
    held_up(relay, gate)
    held_up(relay, gate)
    (third,) = asked(relay, 3)
    assert not wait([third], SHORT_SECONDS).done
    gate.set()
    assert third.result(LONG_SECONDS) == 3
    relay.stop()


def test_what_waits_is_answered_together(gate: threading.Event) -> None:
    relay = BatchExecutor("test", all_at_once, patience_seconds=LONG_SECONDS, together=3)
    first, others = held_up(relay, gate), asked(relay, 1, 2, 3, 4)
    gate.set()
    told = [future.result(LONG_SECONDS) for future in (first, *others)]
    assert told == [(True, 1), (1, 3), (2, 3), (3, 3), (4, 1)]
    relay.stop()


def test_answers_are_told_as_they_come(gate: threading.Event) -> None:
    relay, opened = BatchExecutor("test", each, patience_seconds=LONG_SECONDS, together=8), gate
    stuck = threading.Event()
    held_up(relay, opened)
    (told,), last = asked(relay, 4), relay.submit(partial(stuck.wait, LONG_SECONDS))
    opened.set()
    assert told.result(LONG_SECONDS) == 4
    assert not last.done()
    stuck.set()
    relay.stop()


@pytest.mark.parametrize("answer", [each, all_at_once])
def test_every_question_is_answered_once(answer: Callable[..., Iterator[Any]]) -> None:
    relay, done = (
        BatchExecutor("test", answer, patience_seconds=0.0001, most=8, together=4),
        list[int](),
    )

    def submit(first: int) -> None:
        for number in range(first, first + 200):
            relay.submit(partial(done.append, number))

    threads = [threading.Thread(target=submit, args=(200 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    relay.stop()
    assert sorted(done) == list(range(800))


def test_what_breaks_is_told_to_whom_it_took(gate: threading.Event) -> None:
    relay = BatchExecutor("test", all_at_once, patience_seconds=LONG_SECONDS, together=2)
    held_up(relay, gate)
    futures = asked(relay, "x", 1, 2)
    gate.set()
    errors = [str(future.exception(LONG_SECONDS)) for future in futures]
    invalid = "invalid literal for int() with base 10: 'x'"
    assert errors == [invalid, invalid, "None"]
    relay.stop()


def test_a_missing_answer_is_told() -> None:
    def nothing(questions: Iterator[Question]) -> Iterator[Any]:
        yield from list(questions)[1:]

    relay = BatchExecutor("test", nothing)
    assert str(asked(relay, 1)[0].exception(LONG_SECONDS)) == "it got no answer"
    relay.stop()


def test_after_its_end_nothing_is_taken(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, patience_seconds=LONG_SECONDS)
    first, (second,) = held_up(relay, gate), asked(relay, 2)
    relay.stop(wait=False)
    with pytest.raises(RuntimeError, match="it was stopped"):
        asked(relay, 3)
    gate.set()
    relay.stop()
    assert (first.result(0), second.result(0)) == (True, 2)


def test_what_waits_can_be_dropped(gate: threading.Event) -> None:
    relay = BatchExecutor("test", each, patience_seconds=LONG_SECONDS)
    first, (second,) = held_up(relay, gate), asked(relay, 2)
    relay.stop(wait=False, drop=True)
    gate.set()
    relay.stop()
    assert first.result(0)
    with pytest.raises(CancelledError):
        second.result(0)
