"""Threads that take turns at what people ask, and help out while one of them is held up."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Generic, TypeVar

import structlog

from bot.threads import EssentialThread

log = structlog.get_logger()

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_IDLE_SECONDS = 5.0


class BatchExecutor(Generic[Asked, Answer]):
    """Has questions answered in threads, each once every other has ended or taken its time.

    Threads that only compute gain nothing from running at once: they take Python's lock from each
    other many times in a question. One that waits for a lock or a disk for longer than
    `patience_seconds` is not waited for. Without patience up to `most` are answered at once, as in
    any pool.

    `answer` gets questions for as long as some wait, up to `together` of them, and gives their
    answers in the same order; it may take several before it answers the first.
    """

    def __init__(
        self,
        name: str,
        answer: Callable[[Iterator[Asked]], Iterator[Answer]],
        *,
        patience_seconds: float = 0.0,
        most: int = 16,
        together: int = 1,
    ) -> None:
        self._name = name
        self._answer = answer
        self._patience = patience_seconds
        self._most = most
        self._together = together
        self._changed = threading.Condition(threading.Lock())
        self._waiting: deque[tuple[Asked, Future[Answer]]] = deque()
        self._begun: dict[int, float] = {}
        self._threads: list[EssentialThread] = []
        self._resting = 0
        self._is_watched = False
        self._stopping = False

    def submit(self, asked: Asked) -> "Future[Answer]":
        """Queues it for an answer; RuntimeError after `stop`, or if no thread can be started."""
        future: Future[Answer] = Future()
        with self._changed:
            if self._stopping:
                raise RuntimeError("it was stopped")
            self._waiting.append((asked, future))
            self._look_after_rest()
            if not self._threads:
                self._waiting.pop()
                raise RuntimeError("no thread can be started")
        return future

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The answering threads, as many as were needed at once so far; read without a lock."""
        return tuple(self._threads)

    def stop(self, *, wait: bool = True, drop: bool = False) -> None:
        """Accepts no more requests; queued ones are answered, or cancelled with `drop`."""
        dropped: list[Future[Answer]] = []
        with self._changed:
            self._stopping = True
            while drop and self._waiting:
                dropped.append(self._waiting.popleft()[1])
            self._changed.notify_all()
            threads = list(self._threads)
        for future in dropped:
            future.cancel()  # out of the lock: whoever waits for it is told in here
        for thread in threads if wait else ():
            thread.join()

    def _look_after_rest(self) -> None:
        """Has a thread begin what waits, or watch who is at work; one that watches is enough."""
        if self._is_watched and self._begun:
            return
        if self._resting:
            self._changed.notify()
        elif len(self._threads) < self._most:
            thread = EssentialThread(f"{self._name}-{len(self._threads)}", self._pass)
            try:
                thread.start()
            except RuntimeError as error:  # those there are answer it, one after the other
                log.warning("a thread could not be started", thread=thread.name, error=str(error))
            else:
                self._threads.append(thread)

    def _pass(self) -> bool:
        with self._changed:
            self._begun.pop(threading.get_ident(), None)
            if self._stopping and not self._waiting:
                self._changed.notify_all()  # others may still watch what has ended
                return False
            has_turn = self._has_turn()
        if has_turn:
            self._answer_some()
        return True

    def _answer_some(self) -> None:
        """Answers queued requests; each future is set as soon as its answer is there."""
        taken: deque[Future[Answer]] = deque()
        error: BaseException = RuntimeError("it got no answer")
        try:
            for answer in self._answer(self._questions(taken)):
                taken.popleft().set_result(answer)
        except BaseException as broken:  # noqa: BLE001  # told to whoever asks the futures
            error = broken
        for future in taken:
            future.set_exception(error)

    def _questions(self, taken: "deque[Future[Answer]]") -> Iterator[Asked]:
        """What waits, one after the other, with its future in `taken`."""
        for _ in range(self._together):
            with self._changed:
                if not self._waiting:
                    return
                self._begun[threading.get_ident()] = time.monotonic()
                asked, future = self._waiting.popleft()
                if self._waiting:
                    self._look_after_rest()
            if future.set_running_or_notify_cancel():
                taken.append(future)
                yield asked

    def _has_turn(self) -> bool:
        """Whether this thread is to answer what waits; False after it has waited for its turn."""
        if not self._waiting or self._seconds_to_turn() > 0:
            self._rest()
            return False
        self._begun[threading.get_ident()] = time.monotonic()
        return True

    def _rest(self) -> None:
        """Waits for a change, or for a thread at work to take too long."""
        watches = bool(self._waiting)
        self._is_watched = self._is_watched or watches
        self._resting += 1
        try:
            self._changed.wait(self._seconds_to_turn() if watches else _IDLE_SECONDS)
        finally:
            self._resting -= 1
            self._is_watched = self._is_watched and not watches

    def _seconds_to_turn(self) -> float:
        latest = max(self._begun.values(), default=float("-inf"))
        return latest + self._patience - time.monotonic()
