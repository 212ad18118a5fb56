"""A real bot between the playground's Slack and the control plane of the tests.

The story's clock moves on its own only when bot and cluster have been still for a while, and
then to the next end of a pod, or without one to what the bot does next: Kubernetes itself lives
in real time. Still means that several looks at the cluster in a row saw nothing new and nothing
on its way, so that a busy machine, which looks more seldom, waits longer.
"""

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from typing_extensions import override

from playground.opening import opened
from playground.pace import LIMIT, ImpatientError, Pace
from playground.settings import Setup, merged
from playground.slack.errors import PersonError
from playground.story.expectations import Words
from playground.story.story import Story
from playground.world import DATABASE, Options, World
from tests.cluster.api import Api
from tests.cluster.control_plane import Audited, ControlPlane
from tests.cluster.lives import Lives
from tests.cluster.site import JOBS
from tests.patience import patient

T = TypeVar("T")
S = TypeVar("S", bound=Story)

PATIENCE_SECONDS = 150.0
# Looks without a change: together longer than what Kueue, the Job controller and KWOK leave
# between two changes of one course.
STILL_LOOKS, REST_LOOKS, _PAUSE_LOOKS = 12, 5, 2
_LOOK_SECONDS = 0.1
_NAMED = {
    "deployments": "deployments.apps",
    "jobs": JOBS,
    "ingresses": "ingresses.networking.k8s.io",
}
_TICK = timedelta(milliseconds=1)
_MINUTES_OFF = 3


@dataclass(kw_only=True)
class RealTime(Pace):
    """Waits for what happens elsewhere, and moves the clock only where nothing would."""

    lives: Sequence[Lives]
    _seen: tuple[int, ...] = ()
    _looks: int = 0

    @override
    async def until(self, predicate: Callable[[], T], limit: timedelta = LIMIT) -> T:
        latest = self.clock.now() + limit
        async with self._patience():
            while not (value := predicate()):
                self.check()
                await self._leap(latest)
                await self.changes.wait(_LOOK_SECONDS)
            return value

    @override
    async def pass_until(self, moment: datetime) -> None:
        while self.clock.now() < moment:
            await self.rest(_PAUSE_LOOKS)
            dues = await self._dues()
            if dues is None:  # it began something after the last look
                continue
            await self.clock.move_to(min([moment, *dues, *self._ends()]) + _TICK)
        await self.rest()

    @override
    async def rest(self, looks: int = REST_LOOKS) -> None:
        async with self._patience():
            while not await self._is_still(looks):
                self.check()
                await self.changes.wait(_LOOK_SECONDS)

    async def _leap(self, latest: datetime) -> None:
        if await self._is_still(STILL_LOOKS):
            upcoming = self._ends() or await self._dues() or []
            if upcoming and min(upcoming) < latest:
                await self.clock.move_to(min(upcoming) + _TICK)

    def _ends(self) -> list[datetime]:
        """When the next pod ends, if one will."""
        return [end for each in self.lives if (end := each.next_end()) is not None]

    async def _dues(self) -> list[datetime] | None:
        """When the bot acts next; None if it is not quiet."""
        pulses = await self._quiet_pulses()
        if pulses is None:
            return None
        return [pulse.next_due for pulse in pulses if pulse.next_due is not None]

    async def _is_still(self, looks: int) -> bool:
        """Whether so many looks saw nothing new, and nobody has anything to do."""
        seen = (self.changes.count, *(each.changes for each in self.lives))
        looked = min(each.looks for each in self.lives)
        if seen != self._seen or self._moving():
            self._seen, self._looks = seen, looked
        if looked - self._looks < looks:
            return False
        return await self._quiet_pulses() is not None

    def _moving(self) -> list[str]:
        return [what for each in self.lives for what in each.moving]

    @contextlib.asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.patience_seconds):
                yield
        except TimeoutError:
            moving = "; ".join(self._moving()) or "nothing"
            raise ImpatientError(
                f"not within {self.patience_seconds:g} s; on its way in the cluster: {moving}"
            ) from None


class Plane(Protocol):
    """What a story needs of a cluster; `audited` are the bot's requests, where they are known."""

    folder: Path
    kubeconfig: Path
    bot_kubeconfig: Path
    api: Api

    def audited(self) -> list[Audited]:
        """The bot's requests so far."""
        ...


class PlaneStory(Story):
    """A story whose cluster is a control plane."""

    def __init__(self, world: World, plane: Plane) -> None:
        super().__init__(world)
        self.plane = plane
        self._asked_before = len(plane.audited())

    @override
    def about(self, words: str) -> Words:
        # Programs really take their time here, and the clock goes on meanwhile.
        parts = re.split(r"(\d+)m\b", words)
        for place in range(1, len(parts), 2):
            near = (int(parts[place]) + off for off in range(-_MINUTES_OFF, _MINUTES_OFF + 1))
            parts[place] = f"({'|'.join(map(str, near))})m"
        parts[::2] = map(re.escape, parts[::2])
        return re.compile("".join(parts))

    @override
    def objects(self, plural: str, namespace: str) -> list[str]:
        found = self.plane.api.list(_NAMED.get(plural, plural), namespace)
        return [each["metadata"]["name"] for each in found]

    @override
    def _writes(self) -> list[str]:
        asked = self.plane.audited()[self._asked_before :]
        verbs = {"create", "delete", "deletecollection", "patch", "update"}
        made = {f"{each.verb} {each.resource}" for each in asked if each.verb in verbs}
        return [f"the cluster was asked to {name}" for name in sorted(made - self.allowed_writes)]


class RealStory(PlaneStory):
    """One whose pods live on KWOK's nodes, as the story says."""

    def __init__(self, world: World, plane: ControlPlane, lives: Sequence[Lives]) -> None:
        super().__init__(world, plane)
        self._lives = lives

    @override
    def trains(self, image: str, **behaviour: Any) -> None:
        super().trains(image, **behaviour)
        for each in self._lives:
            each.holds(image)


@contextlib.asynccontextmanager
async def opened_story(
    plane: ControlPlane,
    out: Path,
    settings: dict[str, Any] | None = None,
    setup: Setup | None = None,
    telling: type[RealStory] = RealStory,
    beside: Mapping[str, ControlPlane] = MappingProxyType({}),
) -> AsyncIterator[RealStory]:
    """A story whose bot works on a control plane; `settings` are laid over its configuration.

    The teams of the stories are those of `playground.settings`; their namespaces and queues,
    team-a and team-b, have to be added to the control plane. `beside` are further clusters of the
    bot by name.
    """
    further = {name: {"kubeconfig": str(at.bot_kubeconfig)} for name, at in beside.items()}
    settings = merged({"clusters": further}, settings or {})
    async with opened_world(plane, out, settings, setup) as world:
        behaviours = world.cluster.behaviours
        lives = [Lives(each, world.clock, behaviours) for each in (plane, *beside.values())]
        for each in lives:
            each.start()
        try:
            world.pace = _real_time(world, lives)
            await world.start_bots()
            async with told(telling(world, plane, lives)) as story:
                yield story
        finally:
            for each in lives:
                await asyncio.to_thread(each.stop)


@contextlib.asynccontextmanager
async def opened_world(
    plane: Plane, out: Path, settings: dict[str, Any] | None, setup: Setup | None
) -> AsyncIterator[World]:
    """A world whose bot, which does not run yet, works on a control plane."""
    setup = setup or Setup()
    real = {"clusters": {"default": {"kubeconfig": str(plane.bot_kubeconfig)}}}
    whole = merged(merged(setup.settings, real), settings or {})
    template = plane.folder / DATABASE
    async with opened(Options(out, replace(setup, settings=whole), template=template)) as world:
        if not template.exists():
            await world.bot.migrate()
            shutil.copy(out / DATABASE, template)
        yield patient(world)


@contextlib.asynccontextmanager
async def told(story: S) -> AsyncIterator[S]:
    """The story; what did not come about fails it with all that was seen."""
    try:
        yield story
    except (ImpatientError, PersonError) as error:
        await story.world.look()
        story.fail(str(error))


def _real_time(world: World, lives: Sequence[Lives]) -> RealTime:
    same = {each.name: getattr(world.pace, each.name) for each in fields(Pace)}
    return RealTime(**same | {"patience_seconds": PATIENCE_SECONDS, "lives": lives})
