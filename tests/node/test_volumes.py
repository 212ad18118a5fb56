"""Volumes of runs, their snapshots and restores, by a real provisioner and a real snapshotter."""

import asyncio
from pathlib import Path

import pytest

from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.api import wait_for
from tests.cluster.bots import PlaneStory
from tests.cluster.control_plane import ControlPlane
from tests.node import storage
from tests.node.storage import CLASS
from tests.node.telling import opened_story
from tests.node.test_kinds import PLAIN, TORCH, WRITES

_CLAIMS, _TAKEN = "persistentvolumeclaims", f"volumesnapshots.{storage.SNAPSHOTS}"
_MADE = {"create volumesnapshots", "delete volumesnapshots", f"create {_CLAIMS}"}
# Shows a digest of all that is there, then adds 1 MB that differs in each step.
_STEP = (
    "import hashlib, os, pathlib; folder = pathlib.Path('/mnt/steps');"
    " folder.mkdir(exist_ok=True); found = sorted(folder.iterdir());"
    " all = lambda: hashlib.sha256(b''.join(p.read_bytes() for p in sorted(folder.iterdir())));"
    " before = all().hexdigest()[:16]; name = '%03d' % len(found);"
    " (folder / name).write_bytes(os.urandom(2**20));"
    " print('found', len(found), 'digest', before, 'left', all().hexdigest()[:16])"
)
_LOOK = (
    "import hashlib, os, pathlib; found = sorted(pathlib.Path('/mnt/steps').iterdir());"
    " all = hashlib.sha256(b''.join(p.read_bytes() for p in found)).hexdigest()[:16];"
    " print('found', len(found), 'digest', all)"
)


@pytest.mark.usefixtures("team")
def test_a_run_goes_on_from_its_snapshot(own: ControlPlane, tmp_path: Path) -> None:
    """What was written after the snapshot is in no PVC that was made from it."""
    others = storage.volumes(own)

    async def play() -> None:
        async with opened_story(own, tmp_path) as story:
            story.allowed_writes |= WRITES | _MADE
            alice = story.person("Alice")
            options = f"{PLAIN} --pvc {CLASS}:1Gi:/mnt --snapshot /mnt"
            fit = await submits(story, alice, "#team-a", "fit", f"{options} -- {python(_STEP)}")
            await _ends_with(story, alice, fit, "fit", "found 0")
            digest = await _is_kept(story, fit, "fit")
            (claim,) = story.objects(_CLAIMS, "team-a")
            await _is_written_to(story, alice, claim)
            await alice.types("#team-a", "/train resubmit fit --from-snapshot")
            await alice.is_told("Submitted run fit#2 with", "It starts from snapshot")
            again = await story.card("#team-a", "fit#2", "Image")
            made = await story.card("#team-a", "PVC ", "run fit#2")
            await made.shows("Ready")
            await story.reply(again, "holds the data of snapshot")
            await _ends_with(story, alice, again, "fit#2", f"found 1 digest {digest}")
            await _is_kept(story, again, "fit#2")
            await _is_restored(story, alice, own, digest)
            await story.ends()

    asyncio.run(play())
    remove_all(own, others)


def remove_all(own: ControlPlane, others: set[str]) -> None:
    """Nothing more is left in the driver's folder once the objects are gone."""
    for kind in ("pods", _TAKEN, _CLAIMS):
        for each in own.api.list(kind, "team-a"):
            own.api.delete(kind, each["metadata"]["name"], "team-a")
    wait_for(lambda: not storage.snapshots(own), "the end of all snapshots")
    wait_for(lambda: storage.volumes(own) <= others, "the end of all volumes")


def python(program: str) -> str:
    """The command of a run that is one line of Python."""
    return f'python3 -c "{program}"'


async def _ends_with(story: PlaneStory, alice: Person, card: Card, name: str, said: str) -> None:
    await is_admitted(story, card)
    await ends_well(alice, "#team-a", card, name)
    await card.shows(said)


async def _is_kept(story: PlaneStory, card: Card, name: str) -> str:
    """The digest of what a run left, once the snapshot of its end is ready."""
    taken = await story.card("#team-a", "Snapshot ", name)
    await taken.shows("Ready")
    await story.reply(card, f"at the end of {name} is ready")
    return card.text.partition(" left ")[2].split()[0].strip("`")


async def _is_written_to(story: PlaneStory, alice: Person, claim: str) -> None:
    more = f"{PLAIN} --pvc {claim}:/mnt -- {python(_STEP)}"
    card = await submits(story, alice, "#team-a", "more", more)
    await _ends_with(story, alice, card, "more", "found 1")


async def _is_restored(story: PlaneStory, alice: Person, own: ControlPlane, digest: str) -> None:
    """The first snapshot, as a PVC that two runs on both nodes read at once."""
    first = min(
        own.api.list(_TAKEN, "team-a"), key=lambda each: str(each["status"]["creationTime"])
    )
    name = first["metadata"]["name"]
    await alice.types("#team-a", f"/snapshot restore {name} --as before")
    await alice.is_told(name, "before")
    card = await story.card("#team-a", "PVC before", name)
    await card.shows("Ready")
    await alice.is_mentioned("#team-a", "before", thread=card)
    look = f"--kind sync --nodes 2 --processes 1 --gpus 3 {TORCH} --pvc before:/mnt:ro"
    both = await submits(story, alice, "#team-a", "look", f"{look} -- {python(_LOOK)}")
    await _ends_with(story, alice, both, "look", f"found 1 digest {digest}")
    await both.shows("Nodes: node-1, node-2")
