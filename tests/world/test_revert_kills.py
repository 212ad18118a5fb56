"""The bot is killed at each thing it does for a schedule and to put a PVC back in place."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from playground import scenarios
from playground.opening import opened
from playground.scenarios.snapshots_in_place import ACTIONS, CLAIMS, TAKEN
from playground.story.scenario import run_scenario
from playground.story.story import Story
from playground.world import Options
from tests.world.telling import PATIENCE_SECONDS, before_and_after, effects

IN_PLACE = scenarios.named("snapshots-in-place")
# The snapshot, the clone of what the PVC holds, what asks Trident, and its removal; then two
# slots of a schedule, and the first of its snapshots, which is one too many then.
EVERY = (
    *((f"create {each}", 1) for each in (TAKEN, CLAIMS, ACTIONS)),
    (f"delete {ACTIONS}", 1),
    *((f"create {TAKEN}", turn) for turn in (3, 5)),
    (f"delete {TAKEN}", 1),
)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_putting_back_and_schedules_outlive_kills(options: Options) -> None:
    asyncio.run(_told_amid_kills(options))


async def _told_amid_kills(options: Options) -> None:
    async with opened(replace(options, setup=IN_PLACE.setup)) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        await world.start_bots()
        world.ledger.by_turn = before_and_after(EVERY)
        await run_scenario(world, replace(IN_PLACE, play=_play))
        assert world.kills == 2 * len(EVERY), effects(world)


async def _play(story: Story) -> None:
    """A PVC is put back in place; then each hour has one snapshot, and the last one stays."""
    await IN_PLACE.play(story)
    story.allowed_writes |= {f"delete {TAKEN}"}
    before = set(story.objects(TAKEN, "team-a"))
    alice = story.person("Alice")
    await alice.types("#team-a", '/snapshot schedule results "0 * * * *" --max 1')
    await alice.is_told("Snapshots of results are taken at", "at most 1")
    card = await story.card("#team-a", "Snapshot schedule of results")
    first = await _is_taken(story, before)
    await card.shows(first, "1 ready")
    second = await _is_taken(story, {*before, first})
    await card.shows(second, "1 ready")
    kept = {*before, second}
    await story.until(
        lambda: set(story.objects(TAKEN, "team-a")) == kept, lambda: f"{first} is still there"
    )


async def _is_taken(story: Story, before: set[str]) -> str:
    """An hour passes, and with it one slot; the snapshot of that."""
    await story.pass_time(timedelta(hours=1))
    (made,) = set(story.objects(TAKEN, "team-a")) - before
    return made
