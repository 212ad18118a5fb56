"""The bot is killed at each thing it asks of Azure for a change; none is lost or done twice."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from playground.arm.estate import GIB, TIB, Estate
from playground.arm.trident import Wanted, export, storage_class
from playground.cluster.cluster import Cluster
from playground.ledger import Fault
from playground.opening import opened
from playground.settings import Setup
from playground.slack.rates import Rates
from playground.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS, side_by_side, told

GROW, MOVE, SET = "PATCH capacityPools", "POST poolChange", "PATCH volumes"
# There: the target grows, the volume moves, the source shrinks. Back: the same the other way.
WAY = ((GROW, 1), (MOVE, 1), (GROW, 2), (GROW, 3), (MOVE, 2), (GROW, 4))
THROUGHPUT = ((SET, 1), (SET, 2))


def _arranged(cluster: Cluster, estate: Estate) -> None:
    account = estate.add_account()
    standard = estate.add_pool(account, "standard-1", "Standard", 4)
    premium = estate.add_pool(account, "premium-1", "Premium", 2)
    tuned = estate.add_pool(account, "tuned-1", "Premium", 1)
    tuned.qos = "Manual"
    cluster.create("storageclasses", storage_class())
    models = estate.add_volume(standard, "models", TIB)
    export(cluster, models, "models", Wanted("team-a", "models", 1024))
    scratch = estate.add_volume(tuned, "scratch", 512 * GIB)
    scratch.address = "10.0.2.5"
    export(cluster, scratch, "scratch", Wanted("team-a", "scratch", 512))
    estate.add_volume(premium, "others", 1536 * GIB)


SETUP = Setup(
    azure=_arranged,
    settings={"anf": {"changes": {"approve_above": 10_000}}},
)


async def told_amid_kills(options: Options, fault: Fault) -> None:
    """Changes a level and a throughput for a day; the bot dies at each request on the way."""
    async with opened(options) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        world.ledger.by_turn = dict.fromkeys(_turns(fault), fault)
        story = Story(world, unreliable=True)
        erin = story.person("Erin")
        words = "/anf level models premium --pool premium-1 --for 30h --shrink --yes"
        await erin.types("#team-a", words)
        await erin.types("#team-a", "/anf throughput scratch 60 --for 30h --yes")
        level = await story.card("#team-a", "team-a/models to Premium")
        rate = await story.card("#team-a", "team-a/scratch to 60 MiB/s")
        await level.shows("in force", "premium-1: 2 TiB → 3 TiB (grown)")
        await rate.shows("in force")
        await _azure_is(story, {"premium-1 3", "standard-1 3", "models premium-1", "scratch 60"})
        await story.pass_time(timedelta(hours=31))
        await level.shows("put back")
        await rate.shows("put back")
        await _azure_is(story, {"premium-1 2", "standard-1 4", "models standard-1", "scratch 16"})
        await erin.is_mentioned("#team-a", "models is on Premium", thread=level)
        await erin.is_mentioned("#team-a", "models is put back: Standard", thread=level)
        await erin.is_mentioned("#team-a", "scratch has 60 MiB/s", thread=rate)
        await erin.is_mentioned("#team-a", "scratch is put back: 16 MiB/s.", thread=rate)
        await story.ends()
        assert world.kills == len(WAY) + len(THROUGHPUT)
        assert _begun(world) == len(WAY) + len(THROUGHPUT)


def _turns(fault: Fault) -> list[tuple[str, int]]:
    """The requests to die at; what had no effect is asked again, and so takes two turns each."""
    every = (*WAY, *THROUGHPUT)
    if fault is Fault.KILL_AFTER:
        return list(every)
    return [(name, 2 * turn - 1) for name, turn in every]


def _begun(world: World) -> int:
    """How many operations Azure has ever begun."""
    assert world.azure is not None
    return len(world.azure.app.routes.operations.all)


async def _azure_is(story: Story, facts: set[str]) -> None:
    def there() -> set[str]:
        estate = story.azure
        pools = {f"{each.name} {each.size // TIB}" for each in estate.pools}
        places = {f"{each.name} {each.pool.name}" for each in estate.volumes}
        return pools | places | {f"{each.name} {each.throughput:g}" for each in estate.volumes}

    await story.until(lambda: facts <= there(), lambda: f"Azure has {there()}, not {facts}")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_changes_outlive_kills_at_every_request(options: Options) -> None:
    works = [
        (
            fault,
            partial(told_amid_kills, replace(options, out=options.out / fault, setup=SETUP), fault),
        )
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER)
    ]
    ends = asyncio.run(side_by_side(works, len(works)))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
