"""The bot is killed at each thing it asks of Azure or Trident; none is lost or done twice."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from playground.arm.estate import GIB, TIB, Estate
from playground.arm.trident import CONTROLLER, HOME, Wanted, export, provision, storage_class
from playground.cluster.cluster import Cluster
from playground.opening import opened
from playground.settings import Setup
from playground.slack.rates import Rates
from playground.story.person import Person
from playground.story.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS, before_and_after

GROW, MOVE, SET = "PATCH capacityPools", "POST poolChange", "PATCH volumes"
# There: the target grows, the volume moves, the source shrinks. Back: the same the other way. Each
# counts twice, because it has no effect when the bot first asks for it.
WAY = ((GROW, 1), (MOVE, 1), (GROW, 3), (GROW, 5), (MOVE, 3), (GROW, 7))
THROUGHPUT = ((SET, 1), (SET, 3))
# Trident's record is written, and its controller started anew; another PVC is asked to be larger.
TRIDENT = (("patch tridentvolumes", 1), ("patch deployments", 1))
GROWTH = (("patch persistentvolumeclaims", 1),)
EVERY = (*TRIDENT, *GROWTH, *WAY, *THROUGHPUT)


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
    moved = provision(cluster, estate, standard, Wanted("team-a", "lost", 100))
    moved.pool = tuned
    provision(cluster, estate, standard, Wanted("team-a", "small", 100))


SETUP = Setup(
    azure=_arranged,
    settings={
        "anf": {"changes": {"approve_above": 10_000}},
        "admins": {"people": ["U0CAROL", "U0ERIN"]},
        "approvals": {"anf_change": {"approvers": {"people": ["U0CAROL"]}}},
    },
)


async def told_amid_kills(options: Options) -> None:
    """Repairs, grows, and changes for a day; the bot dies before and after each request."""
    async with opened(options) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        world.ledger.by_turn = before_and_after(EVERY)
        story = Story(world, unreliable=True)
        story.allowed_writes |= {name for name, _ in (*TRIDENT, *GROWTH)}
        erin = story.person("Erin")
        await _repairs_and_grows(story, erin)
        words = "/anf level models premium --pool premium-1 --for 30h --shrink --yes"
        await erin.types("#team-a", words)
        await erin.types("#team-a", "/anf throughput scratch 40 --for 30h --yes")
        level = await story.card("#team-a", "team-a/models to Premium")
        rate = await story.card("#team-a", "team-a/scratch to 40 MiB/s")
        await level.shows("Active", "premium-1: 2 TiB → 3 TiB (grown)")
        await rate.shows("Active")
        await _azure_is(story, {"premium-1 3", "standard-1 3", "models premium-1", "scratch 40"})
        await story.pass_time(timedelta(hours=31))
        await level.shows("Reverted")
        await rate.shows("Reverted")
        await _azure_is(story, {"premium-1 2", "standard-1 4", "models standard-1", "scratch 16"})
        await erin.is_mentioned("#team-a", "models is on Premium", thread=level)
        await erin.is_mentioned("#team-a", "models was reverted to Standard", thread=level)
        await erin.is_mentioned("#team-a", "scratch has 40 MiB/s", thread=rate)
        await erin.is_mentioned("#team-a", "scratch was reverted to 16 MiB/s.", thread=rate)
        await story.ends()
        assert world.kills == 2 * len(EVERY)
        assert _begun(world) == len(WAY) + len(THROUGHPUT)
        assert _starts(world) == 1


async def _repairs_and_grows(story: Story, erin: Person) -> None:
    """One PVC, which somebody moved, is repaired while another one grows."""
    story.unreliable = False
    offers = []
    for words, told in (("repair lost", "was moved to"), ("grow small 200Gi", "permanent")):
        await erin.types("#team-a", f"/anf {words}")
        await erin.is_told("Asking Azure")
        offers.append(await erin.is_told(told))
    repair, growth = offers
    assert repair is not None
    assert growth is not None
    story.unreliable = True
    await erin.clicks(repair, "Request approval")
    card = await story.card("#team-a", "Repair of PVC lost")
    request = await story.card("#gpu-approvals", "Repair of PVC lost")
    await story.person("Carol").clicks(request, "Approve")
    await card.shows("Repaired")
    await erin.is_mentioned("#team-a", "Trident's record of lost is repaired.", thread=card)
    await erin.clicks(growth, "Grow it")
    grown = await story.card("#team-a", "small to 200 GiB")
    await grown.shows("Grown")
    await erin.is_mentioned("#team-a", "small has grown to 200 GiB.", thread=grown)
    assert 200 * GIB in {each.quota for each in story.azure.volumes}


def _begun(world: World) -> int:
    """How many operations Azure has ever begun."""
    assert world.azure is not None
    return len(world.azure.app.routes.operations.all)


def _starts(world: World) -> int:
    """How often Trident's controller was started anew."""
    deployment = world.cluster.get("deployments", CONTROLLER, HOME) or {"metadata": {}}
    return int(deployment["metadata"]["generation"]) - 1


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
    asyncio.run(told_amid_kills(replace(options, setup=SETUP)))
