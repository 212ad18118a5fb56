"""Stories told in worlds of their own, several at a time, and how each of them ended."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from playground import scenarios
from playground.ledger import Fault
from playground.opening import opened
from playground.slack.people import SLACKBOT
from playground.story.context import StoryError
from playground.story.scenario import run_scenario
from playground.story.story import Story
from playground.world import Options, World
from tests.patience import patient

T = TypeVar("T")

# A post whose answer was lost is looked for during 30 s before it is posted again, and on a busy
# machine a bot that was killed takes a minute to be back.
PATIENCE_SECONDS = 180.0
_MOMENTS = re.compile(r"[A-Z][a-z]{2} \d+ \d\d:\d\d UTC|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_LENGTHS = re.compile(r"\b(?:\d+[smhd] ?)+\b")
_NUMBERS = re.compile(r"`[0-9a-f]{6}`|-[0-9a-f]{10}\b|\b[0-9a-f]{32}\b")


async def played(
    name: str,
    options: Options,
    prepare: Callable[[World], None] = lambda _world: None,
    *,
    unreliable: bool = False,
) -> list[str]:
    """Plays a scenario and returns what everybody sees at its end."""
    scenario = scenarios.named(name)
    async with opened(replace(options, setup=scenario.setup)) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        await world.start_bots()
        prepare(world)
        if not unreliable:  # else people try again
            patient(world)
        await run_scenario(world, scenario, unreliable=unreliable)
        return shown(world)


def shown(world: World) -> list[str]:
    """What everybody sees, without what differs from one telling to the next.

    That a run was admitted is a state that passes: a bot that was dead then never says it.
    """
    slack = world.slack
    return sorted(
        f"{channel.name}{' >' if message.is_reply else ''} {bare(slack.text_of(message))}"
        for channel in slack.channels.values()
        for message in channel.messages
        if message.viewer is None
        and not message.deleted
        and message.user != SLACKBOT
        and not message.text.startswith("Admitted after")
    )


async def side_by_side(
    works: Sequence[tuple[str, Callable[[], Awaitable[T]]]], most: int
) -> dict[str, T | BaseException]:
    """Does named works, so many at a time; what each returned or raised."""
    room = asyncio.Semaphore(most)

    async def one(work: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await work()

    done = await asyncio.gather(*(one(work) for _, work in works), return_exceptions=True)
    return dict(zip((name for name, _ in works), done, strict=True))


def before_and_after(requests: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Fault]:
    """The bot dies before each; asked once more, and so counted again, it has an effect unheard."""
    faults: dict[tuple[str, int], Fault] = {}
    for name, turn in requests:
        faults |= {(name, turn): Fault.KILL_BEFORE, (name, turn + 1): Fault.KILL_AFTER}
    return faults


async def ends_same(
    story: str, options: Options, kills: Mapping[str, Mapping[tuple[str, int], Fault]]
) -> None:
    """Plays a story once for each set of kills, two at a time; all have to end the same."""

    async def one(name: str) -> list[str]:
        worlds: list[World] = []

        def prepare(world: World) -> None:
            world.ledger.by_turn = dict(kills[name])
            worlds.append(world)

        there = replace(options, out=options.out / name)
        seen = await played(story, there, prepare, unreliable=True)
        assert worlds[0].kills == len(kills[name]), effects(worlds[0])
        return seen

    ends = await side_by_side([(name, partial(one, name)) for name in kills], 2)
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    assert len({str(end) for end in ends.values()}) == 1, told(ends)


def told(ends: Mapping[str, object]) -> str:
    """What went wrong, for the report of a test; of a group each of its errors."""
    lines = []
    for name, end in ends.items():
        errors = end.exceptions if isinstance(end, BaseExceptionGroup) else [end]
        lines += [f"=== {name}: {type(error).__name__}: {error}" for error in errors]
    return "\n\n".join(lines)


def effects(world: World) -> list[str]:
    """The numbered requests, in their order."""
    return [
        f"{request.service} {request.name} {request.about[:40]}"
        for request in world.ledger.requests
        if request.number is not None
    ]


def folder(parent: Path, name: str) -> Path:
    """A new folder for one world."""
    path = parent / name
    path.mkdir()
    return path


def bare(text: str) -> str:
    """A text without times, lengths and random names."""
    return _LENGTHS.sub("a while", _MOMENTS.sub("some day", _NUMBERS.sub("#", text)))


__all__ = ["Story", "StoryError", "effects", "folder", "played", "shown", "side_by_side", "told"]
