"""A run's output is snapshotted, overwritten, and restored to a PVC that the next run reads."""

import sys

from playground.cluster.cluster import Cluster
from playground.cluster.story import snapshot_class
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

WRITER, READER = "ghcr.io/acme/writer", "ghcr.io/acme/labels:1.0"
_WRITE = """
import pathlib, sys
path = pathlib.Path(sys.argv[1]) / "labels.csv"
path.write_text(sys.argv[2])
print("wrote", sys.argv[2])
"""
_READ = """
import pathlib, sys
print("read", (pathlib.Path(sys.argv[1]) / "labels.csv").read_text())
"""
_CLAIMS, _TAKEN = "persistentvolumeclaims", "volumesnapshots"


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    for word in ("monday", "tuesday"):
        cluster.programs.images[f"{WRITER}:{word}"] = (sys.executable, "-c", _WRITE, "/data", word)
    cluster.programs.images[READER] = (sys.executable, "-c", _READ, "/data")
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class())


SETUP = Setup(arrange=_arrange)


async def play(story: Story) -> None:
    """Written, kept, overwritten, restored with the bytes of its moment, and deleted."""
    story.allowed_writes |= {f"create {_CLAIMS}", f"create {_TAKEN}", f"delete {_TAKEN}"}
    alice = story.person("Alice")
    await _writes(story, alice, "first", "monday")
    kept = await _is_kept(story, alice)
    await _writes(story, alice, "second", "tuesday")
    await _is_restored(story, alice)
    run = await submits(
        story, alice, "#team-a", "third", f"--image {READER} --pvc labels-monday:/data:ro"
    )
    await is_admitted(story, run)
    await run.shows("Succeeded", "read monday")
    await alice.is_mentioned("#team-a", "third succeeded after", thread=run)
    await _is_deleted(story, alice, kept)


async def _writes(story: Story, alice: Person, name: str, word: str) -> None:
    command = f"--image {WRITER}:{word} --pvc imagenet:/data"
    run = await submits(story, alice, "#team-a", name, command)
    await is_admitted(story, run)
    await run.shows(f"wrote {word}")
    await ends_well(alice, "#team-a", run, name)


async def _is_kept(story: Story, alice: Person) -> Card:
    await alice.types("#team-a", '/snapshot create imagenet --note "labels of monday"')
    await alice.is_told("Taking a snapshot of imagenet: imagenet-")
    card = await story.card("#team-a", "Snapshot imagenet-")
    await card.shows("Ready", "labels of monday", "team-a/imagenet", "at least 1 TiB")
    await alice.is_mentioned("#team-a", "The snapshot of imagenet is ready", thread=card)
    await story.cluster_has(_TAKEN, "team-a", "imagenet", count=1)
    return card


async def _is_restored(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/snapshot restore imagenet --as labels-monday")
    await alice.is_told("Creating PVC labels-monday from imagenet-")
    card = await story.card("#team-a", "PVC labels-monday from imagenet-")
    await card.shows("Ready", "ReadWriteMany", "--pvc labels-monday:/mnt")
    await alice.is_mentioned(
        "#team-a",
        "PVC labels-monday is ready. It holds the data of snapshot imagenet-",
        thread=card,
    )


async def _is_deleted(story: Story, alice: Person, card: Card) -> None:
    await alice.types("#team-a", "/snapshot delete imagenet")
    asked = await alice.is_told("loses the state of imagenet", "It is the newest snapshot")
    if asked is None:
        await alice.clicks(card, "Delete", confirming="This cannot be undone.")
    else:
        await alice.clicks(asked, "Delete")
    await alice.is_told("Deleting imagenet-")
    await card.shows("Deleted")
    await story.cluster_has(_TAKEN, "team-a", "imagenet", count=0)
