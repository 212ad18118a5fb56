"""Priority of requests: background work waits while people wait for an answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A step of a run waits up to six times, so under any load it takes 3 s more; its lease is 90 s.
LONGEST_WAIT_SECONDS = 0.5


class ForegroundGate:
    """Makes background work wait while requests are in progress.

    Background work calls `yield_to_foreground` between two steps, messages or changes. The wait is
    limited, so that leases are renewed and cards make progress under any load.
    """

    def __init__(self) -> None:
        self._idle = threading.Condition()
        self._in_progress = 0

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Marks a request as in progress while the context lasts."""
        with self._idle:
            self._in_progress += 1
        try:
            yield
        finally:
            with self._idle:
                self._in_progress -= 1
                if not self._in_progress:
                    self._idle.notify_all()

    def yield_to_foreground(self) -> None:
        """Returns once no request is in progress, after half a second at the latest."""
        with self._idle:
            self._idle.wait_for(lambda: not self._in_progress, LONGEST_WAIT_SECONDS)
