"""The bot is killed at each thing it does to the cluster for pushes; none is lost, nothing left."""

import asyncio
import time
from dataclasses import replace
from functools import partial

import pytest

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.cluster.story import snapshot_class
from playground.ledger import Fault
from playground.opening import opened
from playground.settings import Setup
from playground.slack.rates import Rates
from playground.slack.workspace import Workspace
from playground.story.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS, side_by_side, told

CLAIM = "team-a-data"
FILES = {f"{number:02}.txt": bytes([number]) * 1000 for number in range(6)}
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_SNAPSHOTS, _CONTENTS = "volumesnapshots", "volumesnapshotcontents"
OF_SNAPSHOT = (
    *(f"create {each}" for each in (_CONTENTS, _SNAPSHOTS, _CLAIMS, "jobs")),
    *(f"delete {each}" for each in ("jobs", _CLAIMS, _SNAPSHOTS, _CONTENTS)),
)
OF_CLAIM = (
    *(f"create {each}" for each in (_VOLUMES, _CLAIMS, "jobs")),
    *(f"delete {each}" for each in ("jobs", _CLAIMS, _VOLUMES)),
)


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class(seconds=0))


SETUP = Setup(
    bucket=True,
    arrange=_arrange,
    settings={"datasets": {"static_drivers": ["csi.playground"]}},
)


async def told_amid_kills(options: Options, source: str, writes: tuple[str, ...]) -> None:
    """Pushes once for each request, before and after which the bot dies."""
    async with opened(options) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        story = Story(world, unreliable=True)
        story.allowed_writes |= {*OF_SNAPSHOT, *OF_CLAIM}
        await _is_written(story)
        for write in writes:
            await _is_pushed(story, source, write)
        await story.ends()
        assert world.kills == 2 * len(writes)


async def _is_written(story: Story) -> None:
    """Files are on the team's PVC, and in a snapshot of it."""
    cluster = story.world.cluster
    folder = cluster.programs.volume("team-a", CLAIM) / "clean"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    source = {"source": {"persistentVolumeClaimName": CLAIM}}
    cluster.create(_SNAPSHOTS, {"metadata": {"name": "monday"}, "spec": source}, "team-a")

    def is_ready() -> bool:
        found = cluster.get(_SNAPSHOTS, "monday", "team-a") or {}
        return bool(found.get("status", {}).get("readyToUse"))

    await story.until(is_ready, lambda: "the snapshot is not ready")
    # The bot has to know of it, too.
    await story.rest()


async def _is_pushed(story: Story, source: str, write: str) -> None:
    world, alice = story.world, story.person("Alice")
    name = f"{source.partition(':')[0]}-{write.replace(' ', '-')}"
    # What had no effect is asked once more.
    world.ledger.by_name = {write: [Fault.KILL_BEFORE, Fault.KILL_AFTER]}
    target = f"s3://lake/{name}/"
    await alice.types("#team-a", f"/dataset push {source} {target} --yes")
    card = await story.card("#team-a", f"{source} to {target}")
    await card.shows("Pushed", "6 by MD5")
    said = f"{source} was pushed to {target}: 6 files, 6.0 kB."
    await alice.is_mentioned("#team-a", said, thread=card)
    await story.until(lambda: not _left(world), lambda: f"{_left(world)} are still there")
    # What comes next must not meet the bot while it starts.
    await story.rest()
    assert story.bucket.objects(f"{name}/") == FILES
    assert not any(world.ledger.by_name.values()), world.ledger.by_name


def _left(world: World) -> list[str]:
    """What pushes made and did not remove."""
    cluster = world.cluster
    contents = [
        each for each in cluster.list(_CONTENTS) if each["spec"]["deletionPolicy"] == "Retain"
    ]
    kinds = ("jobs", _CLAIMS, _SNAPSHOTS)
    volumes = [
        each
        for each in cluster.list(_VOLUMES)
        if each["spec"].get("claimRef", {}).get("namespace") == NAMESPACE
    ]
    found = [
        *contents,
        *volumes,
        *(each for kind in kinds for each in cluster.list(kind, NAMESPACE)),
    ]
    return [each["metadata"]["name"] for each in found]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_pushes_outlive_kills_at_every_request(options: Options) -> None:
    stories = (("snapshot:monday:/clean", OF_SNAPSHOT), (f"{CLAIM}:/clean", OF_CLAIM))
    works = [
        (
            source,
            partial(
                told_amid_kills,
                replace(options, out=options.out / source.partition(":")[0], setup=SETUP),
                source,
                writes,
            ),
        )
        for source, writes in stories
    ]
    ends = asyncio.run(side_by_side(works, len(works)))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
