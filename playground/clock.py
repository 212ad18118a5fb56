"""The playground's time: real time plus an offset that only ever grows."""

import asyncio
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """Time that a scenario can move forward; every part of the outside world reads it.

    Limits that protect real machines (Slack's three seconds, rate limits, sockets) stay on
    real time: a shifted clock would let a scenario pass that a real workspace refuses.
    """

    def __init__(self) -> None:
        self.offset = timedelta(0)
        self._moved = asyncio.Condition()

    def now(self) -> datetime:
        """The world's present, in UTC."""
        return datetime.now(UTC) + self.offset

    async def move_to(self, moment: datetime) -> None:
        """Moves the present to `moment`; a moment that has passed already changes nothing."""
        ahead = moment - self.now()
        if ahead <= timedelta(0):
            return
        async with self._moved:
            self.offset += ahead
            self._moved.notify_all()

    async def offset_after(self, known: timedelta, wait_seconds: float) -> timedelta:
        """The offset as soon as it differs from `known`, or the same one after the wait."""
        async with self._moved:
            if self.offset == known:
                try:
                    async with asyncio.timeout(wait_seconds):
                        await self._moved.wait()
                except TimeoutError:
                    pass
            return self.offset
