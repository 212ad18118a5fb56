"""A real bot between the playground's Slack and a cluster with real nodes, in real time."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from playground.pace import LIMIT, ImpatientError, Pace
from playground.settings import Setup
from playground.world import World
from tests.cluster.bots import Plane, PlaneStory, opened_world, told

T = TypeVar("T")

PATIENCE_SECONDS = 90.0
_LOOK_SECONDS = 0.2


class WallTime(Pace):
    """Nothing moves the clock: programs take their own time."""

    @override
    async def until(self, predicate: Callable[[], T], limit: timedelta = LIMIT) -> T:
        end = self.clock.now() + min(limit, timedelta(seconds=self.patience_seconds))
        while not (value := predicate()):
            self.check()
            if self.clock.now() > end:
                raise ImpatientError(f"not within {self.patience_seconds:g} s")
            await self.changes.wait(_LOOK_SECONDS)
        return value

    @override
    async def pass_until(self, moment: datetime) -> None:
        while self.clock.now() < moment:
            self.check()
            await self.changes.wait(_LOOK_SECONDS)

    @override
    async def rest(self) -> None:
        """Returns when the bot has nothing to do at this moment."""
        end = self.clock.now() + timedelta(seconds=self.patience_seconds)
        while await self._quiet_pulses() is None:
            if self.clock.now() > end:
                raise ImpatientError(f"the bot is busy after {self.patience_seconds:g} s")
            await self.changes.wait(_LOOK_SECONDS)


@contextlib.asynccontextmanager
async def opened_story(
    plane: Plane,
    out: Path,
    settings: dict[str, Any] | None = None,
    setup: Setup | None = None,
) -> AsyncIterator[PlaneStory]:
    """A story whose runs really run; team-a with its queue has to be there."""
    async with opened_world(plane, out, settings, setup) as world:
        live_in_real_time(world)
        await world.start_bots()
        async with told(PlaneStory(world, plane)) as story:
            yield story


def live_in_real_time(world: World) -> None:
    """From now on the world waits for what programs do."""
    same = {each.name: getattr(world.pace, each.name) for each in fields(Pace)}
    world.pace = WallTime(**same | {"patience_seconds": PATIENCE_SECONDS})
