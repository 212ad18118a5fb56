"""How long a series of requests to Azure may take together."""

import time
from collections.abc import Callable

from bot.errors import StorageError

DEADLINE_SECONDS = 25.0
"""How long reads for an answer may take together; a person waits for it."""


class Deadline:
    """The time after which a series of requests to Azure is given up."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    @property
    def left_seconds(self) -> float:
        """The time that is left."""
        return max(self._end - self._monotonic(), 0)

    def check(self) -> None:
        """Raises StorageError once the time has passed."""
        if self._monotonic() > self._end:
            raise self.passed()

    def passed(self) -> StorageError:
        """The error of what was given up."""
        return StorageError(
            f"Azure took longer than {self._seconds:.0f} s. The request was cancelled.",
            "Azure is slow at the moment. Try again later.",
        )
