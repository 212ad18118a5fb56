"""A run's output, then a snapshot of it, is pushed as a dataset version with its origin."""

import hashlib
import re
import sys

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.cluster.story import snapshot_class
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, is_recorded
from playground.story.story import Story

PREPARER, READER = "ghcr.io/acme/preparer:1.0", "ghcr.io/acme/reader:1.0"
_PREPARE = """
import pathlib, sys
source, target = (pathlib.Path(each) for each in sys.argv[1:])
for each in sorted(source.rglob("*.png")):
    made = target / "clean" / each.relative_to(source).with_suffix(".txt")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(each.read_bytes()[::2])
print("prepared", flush=True)
"""
_READ = """
import hashlib, pathlib, sys
files = sorted(each for each in pathlib.Path(sys.argv[1]).rglob("*") if each.is_file())
digest = hashlib.sha256(b"".join(each.read_bytes() for each in files))
print("read", len(files), "files with", digest.hexdigest()[:12])
"""
_RAW = {f"train/{number:02}.png": bytes([number]) * 1000 for number in range(12)}
_CLEAN = {key.replace(".png", ".txt"): content[::2] for key, content in _RAW.items()}
_CLAIM, _SNAPSHOTS = "team-a-data", "volumesnapshots"
_MADE = ("persistentvolumeclaims", "persistentvolumes", _SNAPSHOTS, "volumesnapshotcontents")


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.install("snapshots")
    cluster.create("volumesnapshotclasses", snapshot_class(seconds=0))
    cluster.programs.images[PREPARER] = (sys.executable, "-c", _PREPARE, "/data", "/out")
    cluster.programs.images[READER] = (sys.executable, "-c", _READ, "/data")


SETUP = Setup(
    bucket=True,
    arrange=_arrange,
    settings={"datasets": {"static_drivers": ["csi.playground"]}},
)


async def play(story: Story) -> None:
    """A run writes, its folder is pushed and read by another team; then a snapshot of it."""
    story.allowed_writes |= {f"{verb} {kind}" for verb in ("create", "delete") for kind in _MADE}
    alice, bob = story.person("Alice"), story.person("Bob")
    for key, content in _RAW.items():
        story.bucket.put(f"chest-xray/{key}", content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a. Readers: no other team.")
    await is_recorded(story, alice, "v1", "12 objects, 12 kB.")
    await _is_cached(story, alice, "chest-xray@v1")
    await _is_prepared(story, alice)
    await _wrong_words_are_explained(alice)
    _is_snapped(story)
    await alice.types("#team-a", "/dataset add clean s3://lake/clean/ --readers team-b")
    await alice.is_told("Added dataset clean of team-a. Readers: team-b.")
    await _is_pushed(story, alice, f"{_CLAIM}:/clean", "clean")
    await _another_team_reads_it(story, alice, bob)
    _somebody_goes_on_writing(story)
    await _is_pushed(story, alice, "snapshot:monday:/clean", "monday", "--as monday")
    await _nothing_is_left(story)


async def _is_cached(story: Story, alice: Person, reference: str) -> None:
    await alice.types("#team-a", f"/dataset cache {reference} --yes")
    await alice.is_told(f"Caching {reference} on premium")
    card = await story.card("#team-a", f"{reference} on premium")
    await card.shows("Ready", "all 12: 12 by MD5")
    await alice.is_mentioned("#team-a", f"{reference} is cached on premium", thread=card)


async def _is_prepared(story: Story, alice: Person) -> None:
    words = f"--data chest-xray@v1:/data --pvc {_CLAIM}:/out --artifact /out/clean"
    await alice.types("#team-a", f"/train submit prep --image {PREPARER} {words}")
    await alice.is_told("Submitted run prep", "Data: chest-xray@v1 at /data.")
    card = await story.card("#team-a", "prep", "chest-xray@v1 at /data, read-only")
    await is_admitted(story, card)
    await card.shows("Succeeded", "prepared")
    await alice.is_mentioned("#team-a", "prep succeeded", thread=card)


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", "/dataset push snapshot:mondy:/clean s3://lake/monday/")
    await alice.is_told("There is no VolumeSnapshot mondy in namespace team-a.")
    await alice.types("#team-a", f"/dataset push {_CLAIM}:/clean s3://lake/monday/ --name v1")
    await alice.is_told("s3://lake/monday/ is not a dataset of team-a, so no version is recorded.")


def _is_snapped(story: Story) -> None:
    """Somebody takes a snapshot of the PVC as it is now."""
    spec = {"source": {"persistentVolumeClaimName": _CLAIM}}
    body = {"metadata": {"name": "monday"}, "spec": spec}
    story.world.cluster.create(_SNAPSHOTS, body, "team-a")


def _somebody_goes_on_writing(story: Story) -> None:
    folder = story.world.cluster.programs.volume("team-a", _CLAIM) / "clean" / "train"
    (folder / "00.txt").write_bytes(b"of tuesday")
    (folder / "99.txt").write_bytes(b"of tuesday")


async def _is_pushed(story: Story, alice: Person, source: str, dataset: str, *options: str) -> None:
    target = f"s3://lake/{dataset}/"
    await alice.types("#team-a", " ".join(("/dataset push", source, target, "--yes", *options)))
    await alice.is_told(f"Pushing {source} to {target}.")
    card = await story.card("#team-a", f"{source} to {target}")
    await card.shows("Pushed", "12 by MD5", f"It is recorded as {dataset}@v1")
    said = f"{source} was pushed to {target}: 12 files, 6.0 kB."
    await alice.is_mentioned("#team-a", said, f"Recording it as {dataset}@v1.", thread=card)
    version = await story.card("#team-a", f"{dataset}@v1")
    await version.shows("Recorded", "chest-xray@v1", "run prep of team-a")
    await alice.is_mentioned(
        "#team-a", f"{dataset}@v1 is recorded: 12 objects, 6.0 kB.", thread=version
    )
    if story.bucket.objects(f"{dataset}/") != _CLEAN:
        story.fail(f"{target} has {sorted(story.bucket.objects(f'{dataset}/'))}")


async def _another_team_reads_it(story: Story, alice: Person, bob: Person) -> None:
    await _is_cached(story, alice, "clean@v1")
    await bob.types("#team-b", f"/train submit reader --image {READER} --data clean@v1:/data")
    await bob.is_told("Submitted run reader", "Data: clean@v1 at /data.")
    card: Card = await story.card("#team-b", "reader", "clean@v1 at /data, read-only")
    await is_admitted(story, card)
    digest = hashlib.sha256(b"".join(_CLEAN[key] for key in sorted(_CLEAN)))
    await card.shows("Succeeded", f"read 12 files with {digest.hexdigest()[:12]}")
    await bob.is_mentioned("#team-b", re.compile("reader succeeded"), thread=card)


async def _nothing_is_left(story: Story) -> None:
    """Neither of what the pushes read by; what is the team's stays."""

    def left() -> list[str]:
        found = [
            *story.objects("persistentvolumeclaims", NAMESPACE),
            *story.objects("jobs", NAMESPACE),
        ]
        ours = [each for each in found if each.startswith("push-")]
        contents = story.world.cluster.list("volumesnapshotcontents")
        kept = [each for each in contents if each["spec"]["deletionPolicy"] == "Retain"]
        return [
            *ours,
            *story.objects(_SNAPSHOTS, NAMESPACE),
            *(each["metadata"]["name"] for each in kept),
        ]

    await story.until(lambda: not left(), lambda: f"{left()} are still there")
    if story.objects(_SNAPSHOTS, "team-a") != ["monday"]:
        story.fail("the team's snapshot is not there any more")
