"""Times as samples count them: in minutes since 1970."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PER_HOUR = 60
_MINUTE = timedelta(minutes=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """A time from `begun` (inclusive) to `ended` (exclusive)."""

    begun: datetime
    ended: datetime

    @property
    def minutes(self) -> range:
        """The minutes that begin in this window."""
        return range(_next(self.begun), _next(self.ended))


def minute_of(moment: datetime) -> int:
    """The minute that contains a moment."""
    return int(moment.timestamp()) // 60


def moment_of(minute: int) -> datetime:
    """When a minute begins."""
    return _EPOCH + minute * _MINUTE


def _next(moment: datetime) -> int:
    """The first minute that does not begin before a moment."""
    return minute_of(moment + _MINUTE - timedelta.resolution)
