"""The database is lost with a team of Slack, a cache, snapshots and a schedule: all go on."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.cluster.story import claim, snapshot_class, storage_class
from playground.opening import opened
from playground.scenarios.team import APPROVALS, VISION
from playground.scenarios.team import SETUP as TEAM
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card
from playground.story.steps import is_admitted, is_recorded, submits
from playground.story.story import Story
from playground.world import Options, World
from tests.patience import patient
from tests.world.telling import PATIENCE_SECONDS
from tests.world.test_backups import COMMAND, quartermaster
from tests.world.test_lost_database import loses_its_database

CLAIM, TAKEN, CLAIMS = "results", "volumesnapshots", "persistentvolumeclaims"
HOUR = timedelta(hours=1)


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    TEAM.arrange(cluster, workspace)
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class())
    cluster.create("storageclasses", storage_class("nfs", seconds=2))
    results = claim(CLAIM, "100Gi")
    results["spec"]["storageClassName"] = "nfs"
    cluster.create(CLAIMS, results, "team-a")


SETUP = Setup(settings=TEAM.settings, bucket=True, arrange=_arrange)


async def has_a_team(story: Story) -> None:
    """Carol creates team vision, and Bob trains there for days."""
    bob, carol, erin = (story.person(name) for name in ("Bob", "Carol", "Erin"))
    command = "vision --gpus 4 --cohort gpus --channel #C0VISION --members @U0BOB"
    await carol.types(APPROVALS, f"/team create {command}")
    await carol.is_told("Checking team vision by a dry run.")
    card = await story.card(APPROVALS, "Create team vision")
    await card.shows("Waiting for approval")
    await erin.clicks(card, "Approve")
    await erin.is_told("You approved this request.")
    await card.shows("Create team vision · Done")
    await carol.is_mentioned(APPROVALS, "Team vision is created.", thread=card)
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=36_000)
    lane = await submits(story, bob, VISION, "lane", COMMAND)
    await is_admitted(story, lane)
    await lane.shows("Running for")


async def has_data(story: Story) -> None:
    """Alice caches a version, and has snapshots of a PVC taken, also on a schedule."""
    alice = story.person("Alice")
    story.bucket.put("chest-xray/train/1.png", bytes(1001))
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/ --readers team-b")
    await alice.is_told("Added dataset chest-xray of team-a. Readers: team-b.")
    await is_recorded(story, alice, "v1", "1 object, 1.0 kB.")
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --yes")
    await alice.is_told("Caching chest-xray@v1 on premium.")
    cache = await story.card("#team-a", "chest-xray@v1 on premium")
    await cache.shows("Ready")
    await alice.is_mentioned("#team-a", "chest-xray@v1 is cached on premium", thread=cache)
    await alice.types("#team-a", f'/snapshot schedule {CLAIM} "0 * * * *" --max 3')
    await alice.is_told(f"Snapshots of {CLAIM} are taken")
    schedule = await story.card("#team-a", f"Snapshot schedule of {CLAIM}")
    await schedule.shows("Active")
    await story.pass_time(HOUR)
    await schedule.shows("Last", ", ready, ")
    assert slots(story)


def there(story: Story) -> list[list[str]]:
    """What may be neither doubled nor removed."""
    places = ((CLAIMS, NAMESPACE), (CLAIMS, "team-a"), ("jobs", "vision"))
    return [story.objects(plural, namespace) for plural, namespace in places]


def slots(story: Story) -> list[str]:
    """The slots whose snapshots are there: names end with those of their rows."""
    return [each.rpartition("-")[0] for each in story.objects(TAKEN, "team-a")]


async def is_adopted(world: World, snapshots: int) -> None:
    """What is shown first is what is adopted then; a second time nothing is new."""
    shown = await quartermaster(world, "adopt")
    assert [line for line in shown.splitlines() if line.endswith(":")] == [
        "Teams to adopt:",
        "Caches to adopt:",
        "Runs to adopt:",
        "Snapshots to adopt:",
        "Schedules to adopt:",
    ]
    adopted = await quartermaster(world, "adopt", "--yes")
    assert [line for line in adopted.splitlines() if line.startswith("  ")] == [
        line for line in shown.splitlines() if line.startswith("  ")
    ]
    taken = f"{snapshots} snapshot{'' if snapshots == 1 else 's'}"
    again = await quartermaster(world, "adopt", "--yes")
    assert f"\nKnown already: 1 team, 1 cache, 1 run, {taken}, 1 schedule.\nLost" in again


async def goes_on(story: Story) -> Card:
    """People find all of it, and use it; the card of the schedule."""
    alice, bob = story.person("Alice"), story.person("Bob")
    lane = await story.card(VISION, "lane", "Running for")
    await story.reply(lane, "lane goes on under a new database.")
    await bob.types(VISION, "/team show")
    await bob.is_told("Team vision · Ready", "Set in", "Slack")
    schedule = await story.card("#team-a", f"Snapshot schedule of {CLAIM}")
    await schedule.shows("Active", "at most 3")
    await alice.types("#team-a", "/snapshot list")
    await alice.is_told(f"{CLAIM}-")
    await story.pass_time(timedelta(minutes=5))
    await alice.types("#team-a", "/dataset cache chest-xray@v1")
    await alice.is_told("chest-xray@v1 has been cached on premium since")
    return schedule


async def tell(world: World) -> None:
    world.pace.patience_seconds = PATIENCE_SECONDS
    await world.start_bots()
    story = Story(patient(world))
    await has_a_team(story)
    await has_data(story)
    before, taken = there(story), set(slots(story))
    await loses_its_database(world)
    await is_adopted(world, len(taken))
    begun = len(world.ledger.requests)
    await world.bot.start()
    schedule = await goes_on(story)
    assert there(story) == before
    await story.pass_time(HOUR)
    await schedule.shows("Last", ", ready, ")
    assert taken < set(slots(story))
    assert len(slots(story)) == len(set(slots(story)))
    effects = {each.name for each in world.ledger.requests[begun:] if each.number is not None}
    assert not {each for each in effects if each.startswith("delete") and each != "delete jobs"}
    assert not effects & {"create namespaces", "create clusterqueues", f"create {CLAIMS}"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_team_and_data_outlive_the_database(options: Options) -> None:
    async def play() -> None:
        async with opened(replace(options, setup=SETUP)) as world:
            await tell(world)

    asyncio.run(play())
