"""A run's end is kept automatically, overwritten by another run, and resumed in one command."""

import sys

from playground.cluster.cluster import Cluster
from playground.cluster.story import claim, snapshot_class, storage_class
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

TRAINER, SPOILER = "ghcr.io/acme/fit:1.0", "ghcr.io/acme/spoil:1.0"
_TRAIN = """
import pathlib, sys
path = pathlib.Path(sys.argv[1]) / "checkpoint"
epoch = int(path.read_text()) if path.exists() else 0
path.write_text(str(epoch + 1))
print("went on after epoch", epoch)
"""
_SPOIL = """
import pathlib, sys
(pathlib.Path(sys.argv[1]) / "checkpoint").write_text("41")
print("spoilt")
"""
CLAIM = "results"
WRITES = ("create persistentvolumeclaims", "create volumesnapshots")


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    for image, program in ((TRAINER, _TRAIN), (SPOILER, _SPOIL)):
        cluster.programs.images[image] = (sys.executable, "-c", program, "/out")
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class())
    cluster.create("storageclasses", storage_class("nfs", seconds=20))
    results = claim(CLAIM, "100Gi")
    results["spec"]["storageClassName"] = "nfs"
    cluster.create("persistentvolumeclaims", results, "team-a")


SETUP = Setup(arrange=_arrange)


async def play(story: Story) -> None:
    """What the first run left is what the second one begins with, whatever happened meanwhile."""
    story.allowed_writes |= set(WRITES)
    alice = story.person("Alice")
    await story.rest()
    first, kept = await _is_kept(story, alice)
    spoiler = await submits(
        story, alice, "#team-a", "spoil", f"--image {SPOILER} --pvc {CLAIM}:/out"
    )
    await is_admitted(story, spoiler)
    await ends_well(alice, "#team-a", spoiler, "spoil")
    await _goes_on(story, alice)
    await _names_each_other(alice, first, kept)


async def _is_kept(story: Story, alice: Person) -> tuple[Card, Card]:
    options = f"--pvc {CLAIM}:/out --snapshot {CLAIM} --snapshot-keep 30d"
    await alice.types("#team-a", f"/train submit fit --image {TRAINER} {options}")
    await alice.is_told("Submitted run fit with", "/train stop fit stops it.")
    # Where the bot was dead meanwhile the snapshot's card, which names the run, may be first.
    run = await story.card("#team-a", "fit", "Image")
    await _passes(story, run, f"of {CLAIM} when it succeeds")
    await is_admitted(story, run)
    await run.shows("went on after epoch 0")
    await ends_well(alice, "#team-a", run, "fit")
    card = await story.card("#team-a", f"Snapshot {CLAIM}-")
    await card.shows("Ready", f"team-a/{CLAIM}", "fit")
    await story.reply(run, f"The snapshot of {CLAIM} at the end of fit is ready")
    await run.shows(f"{CLAIM}-", ", ready")
    await story.cluster_has("volumesnapshots", "team-a", CLAIM, count=1)
    return run, card


async def _goes_on(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/train resubmit fit --from-snapshot")
    await alice.is_told("Submitted run fit#2 with", "It starts from snapshot", "waits for that PVC")
    run = await story.card("#team-a", "fit#2", "Image")
    made = await story.card("#team-a", f"PVC {CLAIM}-", f"from {CLAIM}-")
    await _passes(story, run, "Waiting for data", f"Waiting for PVC {CLAIM}-")
    await made.shows("Ready", "run fit#2")
    await story.reply(run, f"PVC {CLAIM}-", f"holds the data of snapshot {CLAIM}-")
    await is_admitted(story, run)
    await run.shows("Succeeded", "went on after epoch 1", "snapshot results-", "of run fit")
    await alice.is_mentioned("#team-a", "fit#2 succeeded after", thread=run)
    card = await story.card("#team-a", f"Snapshot {CLAIM}-")
    await card.shows("Ready", "fit#2")
    await story.reply(run, "at the end of fit#2 is ready")
    await story.cluster_has("persistentvolumeclaims", "team-a", CLAIM, count=1)


async def _passes(story: Story, run: Card, *words: str) -> None:
    """A card shows for a while what a bot that was dead meanwhile never saw."""
    if not story.unreliable:
        await run.shows(*words)


async def _names_each_other(alice: Person, first: Card, kept: Card) -> None:
    await alice.types("#team-a", "/train show fit#1")
    await alice.is_told("Restored for", "fit#2")
    await alice.types("#team-a", f"/snapshot show {CLAIM}")
    await alice.is_told(f"Snapshot {CLAIM}-", "for run fit#2, ready")
    await first.shows("Succeeded")
    await kept.shows("Ready")
