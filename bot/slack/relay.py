"""Threads that take turns at what people wait for, and help out while one of them is held up."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

P = ParamSpec("P")
T = TypeVar("T")

_Task = tuple["Future[Any]", Callable[[], Any]]


class Relay(Executor):
    """An executor that begins a task once every other has ended or taken `patience_seconds`.

    Threads that only compute gain nothing from running at once: they take Python's lock from each
    other many times in a task. One that waits for a lock or a disk for longer is not waited for.
    Without patience up to `most` tasks run at once, as in any pool.
    """

    def __init__(self, name: str, *, patience_seconds: float = 0.0, most: int = 16) -> None:
        self._name = name
        self._patience = patience_seconds
        self._most = most
        self._changed = threading.Condition(threading.Lock())
        self._waiting: deque[_Task] = deque()
        self._begun: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._resting = 0
        self._is_watched = False
        self._stopping = False

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Has it done in its turn; RuntimeError after `shutdown`."""
        future: Future[T] = Future()
        with self._changed:
            if self._stopping:
                raise RuntimeError("it was shut down")
            self._waiting.append((future, partial(fn, *args, **kwargs)))
            self._look_after_rest()
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes nothing more; what waits is done or cancelled."""
        with self._changed:
            self._stopping = True
            while cancel_futures and self._waiting:
                self._waiting.popleft()[0].cancel()
            self._changed.notify_all()
            threads = list(self._threads)
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
        while (task := self._next()) is not None:
            future, work = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001  # told to whoever asks the future
                    future.set_exception(error)

    def _next(self) -> _Task | None:
        """The task that this thread is to do; None when there will be no more."""
        me = threading.get_ident()
        with self._changed:
            self._begun.pop(me, None)
            while not self._waiting or self._seconds_to_turn() > 0:
                if self._stopping and not self._waiting:
                    self._changed.notify_all()  # others may still watch what has ended
                    return None
                self._rest()
            self._begun[me] = time.monotonic()
            task = self._waiting.popleft()
            if self._waiting:
                self._look_after_rest()
            return task

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
