"""Priority of requests: background work waits while people wait for an answer."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A step of a run waits up to six times, so under any load it takes 3 s more; its lease is 90 s.
LONGEST_WAIT_SECONDS = 0.5
# At 50 requests a second, what began between two of them would slow the second.
LINGER_SECONDS = 0.025


class ForegroundGate:
    """Makes background work wait while requests are in progress.

    Background work calls `yield_to_foreground` between two steps, messages or changes. It also
    waits a moment after the last request, as the next often follows. The wait is limited, so that
    leases are renewed and cards make progress under any load.
    """

    def __init__(self) -> None:
        self._idle = threading.Condition()
        self._in_progress = 0
        self._calm_at = -math.inf

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
                self._calm_at = time.monotonic() + LINGER_SECONDS
                if not self._in_progress:
                    self._idle.notify_all()

    def yield_to_foreground(self) -> None:
        """Returns once no request is or was just in progress, after half a second at the latest."""
        latest = time.monotonic() + LONGEST_WAIT_SECONDS
        with self._idle:
            while (seconds := min(self._seconds_to_calm(), latest - time.monotonic())) > 0:
                self._idle.wait(seconds)

    def _seconds_to_calm(self) -> float:
        return math.inf if self._in_progress else self._calm_at - time.monotonic()
