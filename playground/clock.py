"""The playground's time: real time plus an offset that only ever grows; bots may be wrong."""

import asyncio
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """Time that a scenario can move forward; every part of the outside world reads it.

    Limits that protect real machines (Slack's three seconds, rate limits, sockets) stay on
    real time: a shifted clock would let a scenario pass that a real workspace refuses.
    """

    def __init__(self) -> None:
        self.offset = timedelta(0)
        self.error = timedelta(0)
        """How far the bots' own clocks are wrong, as that of a machine without NTP."""
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

    @property
    def bot_offset(self) -> timedelta:
        """How far the bots' clocks are ahead of this machine's, with their error."""
        return self.offset + self.error

    async def step(self, error: timedelta) -> None:
        """Has the bots' clocks jump, so that they are wrong by this much; back is possible too."""
        async with self._moved:
            self.error = error
            self._moved.notify_all()

    async def offset_after(self, known: timedelta, wait_seconds: float) -> timedelta:
        """The bots' offset as soon as it differs from `known`, or the same one after the wait."""
        async with self._moved:
            if self.bot_offset == known:
                try:
                    async with asyncio.timeout(wait_seconds):
                        await self._moved.wait()
                except TimeoutError:
                    pass
            return self.bot_offset
