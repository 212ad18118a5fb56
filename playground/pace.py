"""How time passes: only when the bot has nothing to do, and then to the next thing that happens."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Protocol, TypeVar

from playground.bot_process import BotProcess, Pulse
from playground.changes import Changes
from playground.clock import VirtualClock

T = TypeVar("T")

# Slack takes 40 updates a minute, of real ones, and a dozen live cards want one in each hop.
PATIENCE_SECONDS = 60.0
LIMIT = timedelta(hours=2)
_LOOK_SECONDS, _LONGEST_PAUSE_SECONDS = 0.015, 0.25
_LATEST = 0.9  # seconds: nothing in the world happens on the very moment it was planned for
_SAME = timedelta(milliseconds=1)


class Cluster(Protocol):
    """What time needs to know of a cluster."""

    def settle(self) -> None:
        """Brings the cluster to the present."""
        ...

    def next_event(self) -> datetime | None:
        """When the cluster changes by itself next."""
        ...


class ImpatientError(Exception):
    """What was waited for did not come about."""


@dataclass
class Pace:
    """Moves the clock for a world whose bots say when they are quiet.

    `is_settled` says whether nothing outside is on its way to a bot; `check` raises when the
    world itself broke. Every event is seen a part of a second late, by `random`.
    """

    clock: VirtualClock
    changes: Changes
    clusters: Sequence[Cluster]
    bots: Sequence[BotProcess]
    is_settled: Callable[[], bool]
    check: Callable[[], None]
    random: Random
    patience_seconds: float = PATIENCE_SECONDS  # real ones, of each wait
    _pause_seconds: float = _LOOK_SECONDS

    async def until(self, predicate: Callable[[], T], limit: timedelta = LIMIT) -> T:
        """The first truthy value of the predicate, time moving on while the bot is quiet.

        Raises:
            ImpatientError: when patience ran out, or when virtual time reached the limit.
        """
        end = self.clock.now() + limit
        try:
            async with asyncio.timeout(self.patience_seconds):
                while not (value := predicate()):
                    if self.clock.now() > end:
                        raise ImpatientError(f"not within {limit} of the scenario's time")
                    await self._step(None)
                return value
        except TimeoutError:
            raise ImpatientError(f"not within {self.patience_seconds:g} s") from None

    async def pass_until(self, moment: datetime) -> None:
        """Lives through everything up to a moment, one event after another."""
        patience_seconds = 3 * self.patience_seconds
        try:
            async with asyncio.timeout(patience_seconds):
                while self.clock.now() < moment:
                    await self._step(moment)
        except TimeoutError:
            late = moment - self.clock.now()
            raise ImpatientError(f"{late} are left after {patience_seconds:g} s") from None

    async def rest(self) -> None:
        """Returns when nothing is left to do at this moment."""
        try:
            async with asyncio.timeout(self.patience_seconds):
                while await self._next_moment() is None:
                    await self._look_later()
        except TimeoutError:
            raise ImpatientError(f"the bot is busy after {self.patience_seconds:g} s") from None

    async def _step(self, latest: datetime | None) -> None:
        """Moves the clock once, or waits a moment for something to happen."""
        found = await self._next_moment()
        upcoming = min([*(found or []), *([latest] if latest else [])], default=None)
        if found is None or upcoming is None:
            await self._look_later()
            return
        self._pause_seconds = _LOOK_SECONDS
        await self.clock.move_to(upcoming + self._lateness())
        self._settle()

    def _lateness(self) -> timedelta:
        return timedelta(milliseconds=1, seconds=_LATEST * self.random.random())

    async def _look_later(self) -> None:
        """Waits for a change, each time a little longer while there is none."""
        if await self.changes.wait(self._pause_seconds):
            self._pause_seconds = _LOOK_SECONDS
        else:
            self._pause_seconds = min(1.5 * self._pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _next_moment(self) -> list[datetime] | None:
        """The time of the next action; None while a part is busy, or something just changed."""
        before = self.changes.count
        first = await self._quiet_pulses()
        # What left the cluster or Slack a moment ago may not have reached the bot yet.
        if first is None or await self.changes.wait(_LOOK_SECONDS):
            return None
        if await self._quiet_pulses() != first or self.changes.count != before:
            return None
        events = [cluster.next_event() for cluster in self.clusters]
        dues = [pulse.next_due - self.clock.error for pulse in first if pulse.next_due]
        return [*dues, *(moment for moment in events if moment is not None)]

    def _settle(self) -> None:
        for cluster in self.clusters:
            cluster.settle()

    async def _quiet_pulses(self) -> list[Pulse] | None:
        """What the bots that live say, while all of these are quiet and know the time."""
        self.check()
        self._settle()
        if not self.is_settled():
            return None
        pulses = []
        for bot in self.bots:
            pulse = await bot.pulse()
            if pulse is None and not bot.is_running:
                continue  # one of several that was killed
            if pulse is None or not pulse.quiet or not self._knows_the_time(pulse):
                return None
            pulses.append(pulse)
        return pulses or None

    def _knows_the_time(self, pulse: Pulse) -> bool:
        return abs(timedelta(seconds=pulse.offset_seconds) - self.clock.bot_offset) < _SAME
