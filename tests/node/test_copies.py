"""Copies of PVCs for one node to PVCs for many, by the bot's own image on real volumes."""

import asyncio
import hashlib
import os
import stat
from pathlib import Path

import pytest

from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import PlaneStory
from tests.cluster.control_plane import ControlPlane
from tests.node import storage
from tests.node.bot_image import NAME
from tests.node.storage import CLASS
from tests.node.telling import opened_story
from tests.node.test_bot import image
from tests.node.test_kinds import PLAIN, TORCH, WRITES
from tests.node.test_volumes import python, remove_all

__all__ = ["image"]
_DISK = "data"
_MADE = {"create persistentvolumeclaims", "delete persistentvolumeclaims"}
_MADE |= {"create volumesnapshots", "delete volumesnapshots"}
# Files as a team leaves them: of several people, linked, with holes, and with notes.
_FILL = (
    "import os, pathlib; root = pathlib.Path('/mnt'); deep = root / 'train' / 'deep';"
    " deep.mkdir(parents=True); big = deep / 'weights.bin'; big.write_bytes(os.urandom(3 * 2**20));"
    " os.chown(big, 1234, 4321); os.chmod(big, 0o640); os.setxattr(big, 'user.note', b'best');"
    " os.utime(big, ns=(10**18, 10**18 + 7)); os.link(big, root / 'same.bin');"
    " (root / 'latest').symlink_to('train/deep/weights.bin'); own = root / 'own.txt';"
    " own.write_text('mine'); os.chown(own, 1001, 1001); os.chmod(own, 0o400);"
    " holes = open(root / 'holes', 'wb'); holes.write(b'head'); holes.truncate(2**26);"
    " holes.close(); os.chmod(deep, 0o2770); os.chown(deep, 1234, 4321); print('filled')"
)
_WAIT = "import time; print('reads it', flush=True); time.sleep(3600)"
_LOOK = (
    "import hashlib, pathlib; big = pathlib.Path('/mnt/latest').read_bytes();"
    " print('read', hashlib.sha256(big).hexdigest()[:16])"
)


@pytest.mark.usefixtures("team", "image")
def test_disk_is_copied_for_many_nodes(own: ControlPlane, tmp_path: Path) -> None:
    """Once while nothing mounts it, and once by a snapshot while a run does."""
    settings = {
        "pvcs": {"copies": {"image": NAME}},
        "clusters": {"default": {"access_modes": {CLASS: "ReadWriteMany"}}},
        # Whoever writes files of several people is root.
        "teams": {"team-a": {"admission": {"security": "baseline"}}},
    }
    others = storage.volumes(own)
    _create_disk(own)

    async def play() -> None:
        async with opened_story(own, tmp_path, settings) as story:
            story.allowed_writes |= WRITES | _MADE
            alice, erin = story.person("Alice"), story.person("Erin")
            await _runs(story, alice, "fill", f"{PLAIN} --pvc {_DISK}:/mnt", _FILL, "filled")
            written = _tree(storage.folder(own, "team-a", _DISK))
            assert written["same.bin"] == written["train/deep/weights.bin"]
            await _is_copied(story, erin, "shared", "the PVC itself, which nothing may mount")
            assert _tree(storage.folder(own, "team-a", "shared")) == written
            look = f"--kind sync --nodes 2 --processes 1 --gpus 3 {TORCH} --pvc shared:/mnt:ro"
            digest = hashlib.sha256(_weights(own)).hexdigest()[:16]
            await _runs(story, alice, "look", look, _LOOK, f"read {digest}")
            reader = f"{PLAIN} --pvc {_DISK}:/mnt -- {python(_WAIT)}"
            card = await submits(story, alice, "#team-a", "reader", reader)
            await is_admitted(story, card)
            await card.shows("Running", "reads it")
            await erin.types("#team-a", f"/pvc copy {_DISK} --as frozen --class {CLASS}")
            await erin.is_told(f"PVC {_DISK} is mounted now, by", "--snapshot")
            await _is_copied(story, erin, "frozen", "a snapshot of it", "--snapshot")
            assert _tree(storage.folder(own, "team-a", "frozen")) == written
            await alice.types("#team-a", "/train stop reader")
            await alice.is_told("Stopping reader")
            await card.shows("Stopped")
            await story.ends()

    asyncio.run(play())
    remove_all(own, others)


def _create_disk(own: ControlPlane) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": CLASS,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": _DISK, "namespace": "team-a"}
    own.api.create("persistentvolumeclaims", {"metadata": metadata, "spec": spec}, "team-a")


async def _runs(
    story: PlaneStory, alice: Person, name: str, options: str, program: str, said: str
) -> None:
    card = await submits(story, alice, "#team-a", name, f"{options} -- {python(program)}")
    await is_admitted(story, card)
    await ends_well(alice, "#team-a", card, name)
    await card.shows(said)


async def _is_copied(
    story: PlaneStory, erin: Person, target: str, reads: str, options: str = ""
) -> None:
    words = f"/pvc copy {_DISK} --as {target} --class {CLASS} {options}"
    await erin.types("#team-a", words.rstrip())
    offer = await erin.is_told(f"Copy {_DISK} to {target}?", reads)
    assert offer is not None
    await erin.clicks(offer, "Copy it")
    await erin.is_told("Requested")
    card = await story.card("#team-a", f"Copy PVC {_DISK} to {target}")
    kept = "2 folders, 1 symbolic link, 1 hard link, 1 file with holes, 1 extended attribute"
    await card.shows("Copied", "4, 70 MB (70,254,596 bytes)", kept, "3 files, by SHA-256")
    said = f"{target} is ready, and many pods can mount it"
    await erin.is_mentioned("#team-a", said, thread=card)


def _weights(own: ControlPlane) -> bytes:
    return (storage.folder(own, "team-a", _DISK) / "same.bin").read_bytes()


def _tree(root: Path) -> dict[str, tuple[object, ...]]:
    """A folder and everything below it, as another machine would find it."""
    return {str(each.relative_to(root)): _entry(each) for each in (root, *root.rglob("*"))}


def _entry(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    whose = (oct(found.st_mode), found.st_uid, found.st_gid)
    if stat.S_ISLNK(found.st_mode):
        return (*whose, str(path.readlink()))
    notes = {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}
    if stat.S_ISDIR(found.st_mode):
        return (*whose, found.st_mtime_ns, notes)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    holes = found.st_blocks * 512 < found.st_size
    return (*whose, found.st_mtime_ns, notes, found.st_nlink, found.st_size, holes, content)
