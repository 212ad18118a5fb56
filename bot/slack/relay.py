"""Threads that take turns at what people ask, and help out while one of them is held up."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Relay(Generic[Asked, Answer]):
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
        self._threads: list[threading.Thread] = []
        self._resting = 0
        self._is_watched = False
        self._stopping = False

    def submit(self, asked: Asked) -> "Future[Answer]":
        """Has it answered in its turn; RuntimeError after `stop`."""
        future: Future[Answer] = Future()
        with self._changed:
            if self._stopping:
                raise RuntimeError("it was stopped")
            self._waiting.append((asked, future))
            self._look_after_rest()
        return future

    def stop(self, *, wait: bool = True, drop: bool = False) -> None:
        """Takes nothing more; what waits is answered, or cancelled to `drop` it."""
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
            name = f"{self._name}_{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
            self._threads[-1].start()

    def _run(self) -> None:
        while self._wait_for_turn():
            self._answer_some()

    def _answer_some(self) -> None:
        """Answers what waits; each is told as soon as its answer is there."""
        taken: deque[Future[Answer]] = deque()
        error: BaseException = RuntimeError("it was left without an answer")
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

    def _wait_for_turn(self) -> bool:
        """Whether this thread is to answer what waits; False when there will be no more."""
        me = threading.get_ident()
        with self._changed:
            self._begun.pop(me, None)
            while not self._waiting or self._seconds_to_turn() > 0:
                if self._stopping and not self._waiting:
                    self._changed.notify_all()  # others may still watch what has ended
                    return False
                self._rest()
            self._begun[me] = time.monotonic()
            return True

    def _rest(self) -> None:
        """Waits for something to change, or for whoever is at work to take too long."""
        seconds = self._seconds_to_turn() if self._waiting else None
        self._is_watched = self._is_watched or seconds is not None
        self._resting += 1
        self._changed.wait(seconds)
        self._resting -= 1
        self._is_watched = self._is_watched and seconds is None

    def _seconds_to_turn(self) -> float:
        latest = max(self._begun.values(), default=float("-inf"))
        return latest + self._patience - time.monotonic()
