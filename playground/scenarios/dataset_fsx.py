"""A version is imported into FSx for Lustre, read by a run, and released when it is evicted."""

import re

from playground.bucket import NAMESPACE
from playground.fsx.service import CLASS
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, is_recorded, submits
from playground.story.story import Story

SETUP = Setup(bucket=True, fsx=True)
_FILES = {f"chest-xray/train/{number:02}.png": bytes([number]) * 5000 for number in range(8)}
_IMAGE = "ghcr.io/acme/lane:3.1"
_RUN = f"--image {_IMAGE} --gpus 2 --data chest-xray@v1:/data -- python train.py"


async def play(story: Story) -> None:
    """Import and verify without a copy; a run reads it; another version waits; released."""
    story.allowed_writes |= {
        f"{verb} {kind}"
        for verb in ("create", "delete")
        for kind in ("persistentvolumeclaims", "persistentvolumes")
    }
    alice = story.person("Alice")
    for key, content in _FILES.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a")
    await is_recorded(story, alice, "v1", "8 objects, 40 kB.")
    card = await _is_imported_and_verified(story, alice)
    await _a_run_reads_it(story, alice)
    await _other_content_is_no_cache(story, alice)
    await _it_is_released(story, alice, card)


async def _is_imported_and_verified(story: Story, alice: Person) -> Card:
    await alice.types("#team-a", f"/dataset cache chest-xray@v1 --class {CLASS} --yes")
    await alice.is_told(f"Caching chest-xray@v1 on {CLASS}.")
    card = await story.card("#team-a", f"chest-xray@v1 on {CLASS}")
    await card.shows("Ready", re.compile("all 8: 8 by MD5"))
    said = f"chest-xray@v1 is cached on {CLASS}: 8 files, 40 kB."
    await alice.is_mentioned("#team-a", said, thread=card)
    expected = {key.removeprefix("chest-xray/"): content for key, content in _FILES.items()}
    if story.fsx.files("chest-xray") != expected:
        story.fail(f"FSx holds something else: {sorted(story.fsx.files('chest-xray'))}")
    return card


async def _a_run_reads_it(story: Story, alice: Person) -> None:
    card = await submits(story, alice, "#team-a", "lane", _RUN)
    await is_admitted(story, card)
    await ends_well(alice, "#team-a", card, "lane")


async def _other_content_is_no_cache(story: Story, alice: Person) -> None:
    """The file system shows what the bucket holds now, so there is one version at a time."""
    story.bucket.put("chest-xray/train/08.png", bytes(5000))
    await is_recorded(story, alice, "v2", "9 objects")
    await alice.types("#team-a", f"/dataset cache chest-xray@v2 --class {CLASS} --yes")
    await alice.is_told(
        "chest-xray@v1 is in folder lake/chest-xray of lustre, which importing"
        " chest-xray@v2 would change.",
        "Evict chest-xray@v1 first, or use another class with --class.",
    )


async def _it_is_released(story: Story, alice: Person, card: Card) -> None:
    await alice.types("#team-a", "/dataset evict chest-xray@v1")
    await alice.is_told("Checking what needs chest-xray@v1")
    offer = await alice.is_told(
        "Evicting chest-xray@v1 frees 1 GiB of lustre. 8 files, 40 kB, are released, and their"
        " names stay."
    )
    if offer is not None:
        await alice.clicks(offer, "Evict")
        await alice.is_told("Evicting chest-xray@v1 from lustre.")
    await card.shows("Evicted", "Freed 1 GiB.")
    await story.reply(card, "Evicted chest-xray@v1 from lustre. Freed 1 GiB.")
    left = [*story.objects("persistentvolumeclaims", NAMESPACE), *story.objects("pods", NAMESPACE)]
    if left:
        story.fail(f"{left} are still there")
    kinds = [each.asked["Type"] for each in story.fsx.estate.tasks]
    if kinds != ["IMPORT_METADATA_FROM_REPOSITORY", "RELEASE_DATA_FROM_FILESYSTEM"]:
        story.fail(f"FSx was given {kinds}")
