"""A folder of a version is cached and read by itself; the whole version holds each folder too."""

import hashlib
import re

from playground.bucket import NAMESPACE
from playground.scenarios.dataset_runs import READER, SETUP
from playground.story.person import Person
from playground.story.steps import is_admitted, is_recorded
from playground.story.story import Story

_TRAIN = {f"train/{number:02}.png": bytes([number]) * 1000 for number in range(12)}
_VAL = {f"val/{number:02}.png": bytes([number]) * 500 for number in range(3)}
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_WHOLE, _PART = "chest-xray@v1", "chest-xray@v1/train/"

__all__ = ["SETUP", "play"]


async def play(story: Story) -> None:
    """Counted, asked, cached and read; what is not there is refused; the whole serves a part."""
    story.allowed_writes |= {f"create {_CLAIMS}", f"create {_VOLUMES}"}
    alice = story.person("Alice")
    for key, content in (_TRAIN | _VAL).items():
        story.bucket.put(f"chest-xray/{key}", content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a.")
    await is_recorded(story, alice, "v1", "15 objects, 14 kB.")
    await alice.types("#team-a", f"/dataset cache {_WHOLE}/trian/")
    await alice.is_told(f"Reading the manifest of {_WHOLE}…")
    await alice.is_told(f"{_WHOLE} has no file or folder trian.", "Did you mean train/?")
    if not story.unreliable:
        # What only she sees may be lost with the bot, and the button with it.
        await _the_folder_is_cached(story, alice)
        await _reads(story, alice, f"{_WHOLE}/train/", 1, _TRAIN)
        await alice.types("#team-a", _submit(f"{_WHOLE}/val/"))
        await alice.is_told(f"{_WHOLE}/val/ is not cached.", f"/dataset cache {_WHOLE}/val/")
    await alice.types("#team-a", f"/dataset cache {_WHOLE} --yes")
    await alice.is_told(f"Caching {_WHOLE} on premium.")
    card = await story.card("#team-a", f"{_WHOLE} on premium")
    await card.shows("Ready", re.compile("all 15: 15 by MD5"))
    await alice.is_mentioned("#team-a", f"{_WHOLE} is cached on premium", thread=card)
    await _reads(story, alice, f"{_WHOLE}/val/", 1 if story.unreliable else 2, _VAL)


async def _the_folder_is_cached(story: Story, alice: Person) -> None:
    await alice.types("#team-a", f"/dataset cache {_PART}")
    await alice.is_told(f"Reading the manifest of {_WHOLE}…")
    offer = await alice.is_told(f"Cache {_PART}?", "12 files, 12 kB (12,000 bytes)")
    assert offer is not None  # noqa: S101 - only an unreliable story has none
    await alice.clicks(offer, "Cache it")
    await alice.is_told(f"Caching {_PART} on premium.")
    card = await story.card("#team-a", f"{_PART} on premium")
    await card.shows("Ready", re.compile("all 12: 12 by MD5"))
    await alice.is_mentioned(
        "#team-a", f"{_PART} is cached on premium: 12 files, 12 kB.", thread=card
    )
    (claim,) = story.objects(_CLAIMS, NAMESPACE)
    if story.files(NAMESPACE, claim) != _TRAIN:
        story.fail(f"its files are {sorted(story.files(NAMESPACE, claim))}")


async def _reads(
    story: Story, alice: Person, data: str, number: int, content: dict[str, bytes]
) -> None:
    """A run that mounts a folder sees its files, and no others."""
    await alice.types("#team-a", _submit(data))
    await alice.is_told("Submitted run reader", f"Data: {data} at /data.")
    card = await story.card("#team-a", "reader", f"{data} at /data, read-only")
    await is_admitted(story, card)
    digest = hashlib.sha256(b"".join(content[key] for key in sorted(content)))
    await card.shows("Succeeded", f"read {len(content)} files with {digest.hexdigest()[:12]}")
    name = "reader" if number == 1 else f"reader#{number}"
    await alice.is_mentioned("#team-a", f"{name} succeeded", thread=card)


def _submit(data: str) -> str:
    return f"/train submit reader --image {READER} --data {data}:/data"
