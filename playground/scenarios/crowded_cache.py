"""A storage class is too full: the least recently used cache is announced once and evicted."""

import random
from datetime import timedelta

from playground.bucket import CACHES, NAMESPACE
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_recorded
from playground.story.story import Story

_CLAIMS = "persistentvolumeclaims"
_KEYS = [f"chest-xray/train/{number:02}.png" for number in range(12)]
_OLD, _NEW = "chest-xray@v1 on premium", "chest-xray@v2 on premium"

SETUP = Setup(
    bucket=True,
    settings={
        "datasets": {
            "keep": "off",
            "notice": "40m",
            "classes": {CACHES: {"budget": "2Gi", "watermark_percent": 60}},
        }
    },
)


async def play(story: Story) -> None:
    """Two versions on a class that has room for one and a bit; nobody says a word."""
    story.allowed_writes |= {f"{verb} {_CLAIMS}" for verb in ("create", "delete")}
    alice = story.person("Alice")
    for key in _KEYS:
        story.bucket.put(key, bytes(1000))
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a")
    old = await _is_cached(story, alice, "v1")
    await story.pass_time(timedelta(minutes=7, seconds=_seconds()))
    story.bucket.put(_KEYS[0], bytes(1001))
    new = await _is_cached(story, alice, "v2")
    await story.pass_time(timedelta(minutes=6, seconds=_seconds()))
    said = f"{_OLD} will be evicted in"
    full = "premium is 100 % full (2 GiB of 2 GiB). Above 60 %"
    await alice.is_mentioned("#team-a", said, full, thread=old, broadcast=True)
    await story.pass_time(timedelta(minutes=29, seconds=_seconds()))
    await old.shows("Ready")
    await story.pass_time(timedelta(minutes=21, seconds=_seconds()))
    await old.shows("Evicted", "Freed 1 GiB.")
    await story.reply(old, "Evicted chest-xray@v1 from premium.", "Freed 1 GiB.")
    await _it_stays_quiet(story, new)


_OFFSETS = random.Random(23)  # noqa: S311 - what a story repeats is no secret


def _seconds() -> float:
    """So many that no moment of the story is a full minute of anything that was announced."""
    return _OFFSETS.uniform(7, 53)


async def _is_cached(story: Story, alice: Person, name: str) -> Card:
    await is_recorded(story, alice, name, "12 objects")
    await alice.types("#team-a", f"/dataset cache chest-xray@{name} --yes")
    await alice.is_told(f"Caching chest-xray@{name} on premium")
    card = await story.card("#team-a", f"chest-xray@{name} on premium")
    await card.shows("Ready", "all 12: 12 by MD5")
    said = f"chest-xray@{name} is cached on premium: 12 files"
    await alice.is_mentioned("#team-a", said, thread=card)
    return card


async def _it_stays_quiet(story: Story, new: Card) -> None:
    """There is room again: nothing more is said, and the newer one stays."""
    await story.pass_time(timedelta(minutes=57, seconds=_seconds()))
    await new.shows("Ready")
    left = story.objects(_CLAIMS, NAMESPACE)
    if len(left) != 1:
        story.fail(f"of two caches one should be left, but there are {left}")
