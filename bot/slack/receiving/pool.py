"""A thread pool with limited capacity, which rejects further work."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future

import structlog

log = structlog.get_logger()

Work = Callable[[], None]


class PoolCapacity:
    """Capacity for `most` pieces of work, queued and running together."""

    def __init__(self, most: int) -> None:
        self._idle = threading.Condition()
        self._most = most
        self._taken = 0

    def take(self) -> bool:
        """Reserves capacity for one piece of work; False when there is none."""
        with self._idle:
            if self._taken >= self._most:
                return False
            self._taken += 1
            return True

    def give_back(self) -> None:
        """Gives back what was taken for one piece of work."""
        with self._idle:
            self._taken -= 1
            self._idle.notify_all()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running."""
        with self._idle:
            return not self._taken

    def drain(self, patience_seconds: float) -> bool:
        """Whether all that was taken is done; waits for it that long."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._taken, patience_seconds)


class BoundedPool:
    """Threads with capacity for `most` pieces of work, queued and running together."""

    def __init__(self, threads: Executor, *, most: int) -> None:
        self._threads = threads
        self._room = PoolCapacity(most)

    def reserve(self) -> "Slot | None":
        """Room for one piece of work, None when there is none; each slot is to be run once."""
        return Slot(self) if self._room.take() else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running."""
        return self._room.is_idle

    def drain(self, patience_seconds: float) -> bool:
        """Whether all that was taken is done; waits for it that long."""
        return self._room.drain(patience_seconds)

    def stop(self) -> None:
        """Ends the threads once what they do is done; what waits is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def run(self, work: Work) -> None:
        """Runs work for which capacity was reserved."""
        try:
            self._threads.submit(work).add_done_callback(self._done)
        except RuntimeError:  # it was stopped meanwhile
            self._room.give_back()

    def _done(self, future: "Future[None]") -> None:
        self._room.give_back()
        broke = None if future.cancelled() else future.exception()
        if broke is not None:
            log.error("work in a pool failed unexpectedly", exc_info=broke)


class Slot:
    """Reserved capacity in a pool for one piece of work."""

    def __init__(self, pool: BoundedPool) -> None:
        self._pool = pool

    def run(self, work: Work) -> None:
        """Does the work in the pool; what it raises is logged."""
        self._pool.run(work)
