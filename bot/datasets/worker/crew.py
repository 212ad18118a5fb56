"""Runs tasks in threads, with retries, until all are done or one fails."""

import concurrent.futures
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from bot.datasets.worker.failures import WorkError

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 10.0

Task = TypeVar("Task")


class Crew:
    """Runs tasks; the first failure ends all. `ended` is set once there is nothing left to do.

    A task that fails because the store or the volume is down is retried for `patience_seconds`.
    """

    def __init__(self, patience_seconds: float) -> None:
        self.ended: Final = threading.Event()
        self._patience: Final = patience_seconds
        self._lock: Final = threading.Lock()
        self._failure: BaseException | None = None

    def work(
        self,
        tasks: Iterable[Task],
        do: Callable[[Task], None],
        workers: int,
        beside: Callable[[], None] | None = None,
    ) -> None:
        """Runs all tasks; raises the first failure. `beside` runs in parallel until `ended`."""
        left = iter(tasks)
        with concurrent.futures.ThreadPoolExecutor(workers + 1, "copy") as pool:
            aside = [pool.submit(self._guarded, beside)] if beside else []
            doing = [
                pool.submit(self._guarded, lambda: self._until_none_left(left, do))
                for _ in range(workers)
            ]
            concurrent.futures.wait(doing)
            self.ended.set()
            concurrent.futures.wait(aside)
        if self._failure:
            raise self._failure

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:
            with self._lock:
                self._failure = self._failure or error
            self.ended.set()
            raise

    def _until_none_left(self, left: Iterator[Task], do: Callable[[Task], None]) -> None:
        while not self.ended.is_set():
            with self._lock:
                task = next(left, None)
            if task is None:
                return
            self._patiently(task, do)

    def _patiently(self, task: Task, do: Callable[[Task], None]) -> None:
        """Runs a task, and retries it while the store or the volume is down."""
        pause, waited = _FIRST_PAUSE_SECONDS, 0.0
        while True:
            try:
                do(task)
            except WorkError as error:
                if error.reason != "store_down" or waited >= self._patience:
                    raise
            else:
                return
            if self.ended.wait(pause):
                return
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
