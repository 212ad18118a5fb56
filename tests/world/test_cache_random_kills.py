"""The bot is killed fifty times while caches are filled; none is ever ready with a hole."""

import asyncio
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from playground.bucket import NAMESPACE
from playground.opening import opened
from playground.settings import Setup
from playground.slack.rates import Rates
from playground.story.steps import is_recorded
from playground.story.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS, side_by_side, told

WORLDS, KILLS_EACH = 2, 25
LIVES_SECONDS = (0.05, 1.5)
FILES = 6
_CLAIMS = "persistentvolumeclaims"


async def killed_at_random(world: World, is_filling: asyncio.Event) -> None:
    """Kills the bot again and again while anything is asked for and not there yet."""
    while world.kills < KILLS_EACH:
        await is_filling.wait()
        await world.changes.pass_by(world.random.uniform(*LIVES_SECONDS))
        if is_filling.is_set():
            await world.kill_bot()
            await world.bot.start()


async def told_amid_kills(options: Options) -> None:
    """Has one version after the other cached until all kills are done; every third one changed."""
    async with opened(options) as world:
        world.pace.patience_seconds = 2 * PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        story = Story(world, unreliable=True)
        story.allowed_writes |= {f"{verb} {_CLAIMS}" for verb in ("create", "delete")}
        alice = story.person("Alice")
        await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
        is_filling, rounds = asyncio.Event(), 0
        async with asyncio.TaskGroup() as together:
            killer = together.create_task(killed_at_random(world, is_filling))
            while not (killer.done() and rounds):
                rounds += 1
                await _cached(story, rounds, is_filling)
        await story.ends()
        assert world.kills == KILLS_EACH
        made = Counter(
            each.about for each in world.ledger.requests if each.name == f"create {_CLAIMS}"
        )
        assert len(made) == rounds


async def _cached(story: Story, number: int, is_filling: asyncio.Event) -> None:
    """A version is recorded in peace and cached amid kills: complete, or cleanly not at all."""
    alice, reference = story.person("Alice"), f"chest-xray@v{number}"
    files = {f"{each:02}.png": bytes([number, each]) * 500 for each in range(FILES)}
    for name, content in files.items():
        story.bucket.put(f"chest-xray/{name}", content)
    await is_recorded(story, alice, f"v{number}", f"{FILES} objects, 6.0 kB.")
    has_changed = number % 3 == 0
    if has_changed:
        story.bucket.put("chest-xray/03.png", bytes([number]) * 1001)
    before = set(story.objects(_CLAIMS, NAMESPACE))
    is_filling.set()
    await alice.types("#team-a", f"/dataset cache {reference} --yes")
    card = await story.card("#team-a", f"{reference} on premium")
    if has_changed:
        await card.shows("Not cached", "03.png")
        await story.until(
            lambda: set(story.objects(_CLAIMS, NAMESPACE)) == before,
            lambda: f"{reference} failed and left {story.objects(_CLAIMS, NAMESPACE)}",
        )
    else:
        await card.shows("Ready", f"all {FILES}")
        (claim,) = set(story.objects(_CLAIMS, NAMESPACE)) - before
        assert story.files(NAMESPACE, claim) == files
    is_filling.clear()
    said = "was not cached." if has_changed else "is cached on premium"
    await alice.is_mentioned("#team-a", said, thread=card, broadcast=has_changed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_random_kills_leave_no_hole(options: Options) -> None:
    works = [
        (
            f"seed {seed}",
            partial(
                told_amid_kills,
                replace(options, out=options.out / f"{seed}", seed=seed, setup=Setup(bucket=True)),
            ),
        )
        for seed in range(WORLDS)
    ]
    ends = asyncio.run(side_by_side(works, WORLDS))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
