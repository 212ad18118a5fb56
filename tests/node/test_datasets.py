"""Datasets from a real S3 server to a real volume and back, by the bot's own image.

The bot, too, runs in a pod: what it cannot do with the rights of deploy/ fails here.
"""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.bucket import KEYS, NAMESPACE, SECRET
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, is_recorded, submits
from tests.cluster.bots import PlaneStory
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import deploy
from tests.cluster.site import Site
from tests.node import storage
from tests.node.bot_image import NAME
from tests.node.bot_pod import opened_story
from tests.node.storage import CLASS, DRIVER
from tests.node.test_bot import image
from tests.node.test_kinds import PLAIN, WRITES

__all__ = ["image"]
_RAW = {f"train/{number:02}.png": bytes([number]) * 100_000 for number in range(12)}
_CLEAN = {key.replace(".png", ".txt"): content[::2] for key, content in _RAW.items()}
_PREPARE = (
    "import pathlib; source, target = pathlib.Path('/data'), pathlib.Path('/out/clean');"
    " [(made := target / each.relative_to(source).with_suffix('.txt'),"
    " made.parent.mkdir(parents=True, exist_ok=True), made.write_bytes(each.read_bytes()[::2]))"
    " for each in source.rglob('*.png')]; print('prepared')"
)
_READ = (
    "import hashlib, pathlib; files = sorted(p for p in pathlib.Path('/data').rglob('*')"
    " if p.is_file()); all = hashlib.sha256(b''.join(p.read_bytes() for p in files));"
    " print('read', len(files), 'files with', all.hexdigest()[:12])"
)
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_MADE = {
    f"{verb} {kind}"
    for verb in ("create", "delete", "patch")
    for kind in (_CLAIMS, _VOLUMES, "volumesnapshots", "volumesnapshotcontents")
}


@pytest.fixture
def lake(own: ControlPlane, furnished: Site) -> Iterator[None]:
    """What docs/datasets.md has an administrator prepare, and a second team."""
    deploy(own.api, "17-datasets.yaml")
    own.api.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": NAMESPACE},
            "stringData": KEYS,
        }
    )
    furnished.add_team("4", "team-b")
    yield
    furnished.empty("team-b")


@pytest.mark.usefixtures("team", "image", "lake")
def test_a_dataset_goes_round(own: ControlPlane, tmp_path: Path) -> None:
    settings = {
        "datasets": {
            "image": NAME,
            "static_drivers": [DRIVER],
            "classes": {CLASS: {"throughput_mib_per_tib": 64, "budget": "20Gi"}},
        }
    }
    setup = Setup(bucket=True)

    async def play() -> None:
        async with opened_story(own, tmp_path, CLASS, settings, setup) as story:
            story.allowed_writes |= WRITES | _MADE
            alice, bob = story.person("Alice"), story.person("Bob")
            for key, content in _RAW.items():
                story.bucket.put(f"chest-xray/{key}", content)
            await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
            await alice.is_told("Added dataset chest-xray of team-a")
            await is_recorded(story, alice, "v1", "12 objects, 1.2 MB.")
            await _is_cached(story, alice, "chest-xray@v1")
            await _is_prepared(story, alice)
            await alice.types("#team-a", "/dataset add clean s3://lake/clean/ --readers team-b")
            await alice.is_told("Added dataset clean of team-a. Readers: team-b.")
            await _is_pushed(story, alice)
            copy = await _is_cached(story, alice, "clean@v1")
            await _is_read(story, bob)
            await _is_evicted(own, story, alice, copy)
            await story.ends()

    asyncio.run(play())


async def _is_cached(story: PlaneStory, alice: Person, reference: str) -> Card:
    await alice.types("#team-a", f"/dataset cache {reference} --class {CLASS} --yes")
    await alice.is_told(f"Caching {reference} on {CLASS}")
    card = await story.card("#team-a", f"{reference} on {CLASS}")
    await card.shows("Ready", "all 12: 12 by MD5")
    await alice.is_mentioned("#team-a", f"{reference} is cached on {CLASS}", thread=card)
    return card


async def _is_prepared(story: PlaneStory, alice: Person) -> None:
    """A run of the team reads the cache and writes to a new PVC of its own."""
    data = f"--data chest-xray@v1:/data --pvc {CLASS}:1Gi:/out --artifact /out/clean"
    words = f'{PLAIN} {data} -- python3 -c "{_PREPARE}"'
    card = await submits(story, alice, "#team-a", "prep", words)
    await is_admitted(story, card)
    await ends_well(alice, "#team-a", card, "prep")
    await card.shows("prepared")


async def _is_pushed(story: PlaneStory, alice: Person) -> None:
    (claim,) = _own_claims(story)
    await alice.types("#team-a", f"/dataset push {claim}:/clean s3://lake/clean/ --yes")
    await alice.is_told(f"Pushing {claim}:/clean to s3://lake/clean/.")
    card = await story.card("#team-a", f"{claim}:/clean to s3://lake/clean/")
    await card.shows("Pushed", "12 by MD5", "It is recorded as clean@v1")
    said = f"{claim}:/clean was pushed to s3://lake/clean/: 12 files, 600 kB."
    await alice.is_mentioned("#team-a", said, "Recording it as clean@v1.", thread=card)
    version = await story.card("#team-a", "clean@v1")
    await version.shows("Recorded", "chest-xray@v1", "run prep of team-a")
    said = "clean@v1 is recorded: 12 objects, 600 kB."
    await alice.is_mentioned("#team-a", said, thread=version)
    assert story.bucket.objects("clean/") == _CLEAN


async def _is_read(story: PlaneStory, bob: Person) -> None:
    """Another team's run reads the copy in a namespace of its own, and cannot write to it."""
    words = f'{PLAIN} --data clean@v1:/data -- python3 -c "{_READ}"'
    await bob.types("#team-b", f"/train submit reader {words}")
    await bob.is_told("Submitted run reader", "Data: clean@v1 at /data.")
    card: Card = await story.card("#team-b", "reader", "clean@v1 at /data, read-only")
    await is_admitted(story, card)
    await ends_well(bob, "#team-b", card, "reader")
    digest = hashlib.sha256(b"".join(_CLEAN[key] for key in sorted(_CLEAN)))
    await card.shows(f"read 12 files with {digest.hexdigest()[:12]}")


async def _is_evicted(own: ControlPlane, story: PlaneStory, alice: Person, card: Card) -> None:
    """Nothing is left of the copy in any namespace, nor in the driver's folder."""
    before = storage.volumes(own)
    await alice.types("#team-a", "/dataset evict clean@v1")
    await alice.is_told("Checking what needs clean@v1")
    offer = await alice.is_told(f"Evicting clean@v1 frees 1 GiB of {CLASS}.", "12 files, 600 kB")
    assert offer is not None
    await alice.clicks(offer, "Evict")
    await alice.is_told(f"Evicting clean@v1 from {CLASS}.")
    await card.shows("Evicted", "Freed 1 GiB.")
    await story.reply(card, f"Evicted clean@v1 from {CLASS}.")
    left = [each["metadata"]["name"] for each in own.api.list(_VOLUMES)]
    assert [each for each in left if "clean" in each] == []
    assert len(before - storage.volumes(own)) == 1


def _own_claims(story: PlaneStory) -> list[str]:
    """The PVCs of the team that are no copy of a dataset."""
    return [each for each in story.objects(_CLAIMS, "team-a") if "chest-xray" not in each]
