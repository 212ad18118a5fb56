"""The bot's clock: wall-clock time, which only a playground may shift.

Leases, time-outs and budgets never come from here; they use monotonic or database time.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Now = Callable[[], datetime]


class Clock:
    """The present in UTC; `shift` moves it, in a playground only."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        """The present, timezone-aware UTC."""
        return datetime.now(UTC) + self.offset

    def shift(self, offset: timedelta) -> None:
        """Sets how far the present is ahead of the machine's own time."""
        self.offset = offset
