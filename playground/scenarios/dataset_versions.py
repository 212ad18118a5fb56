"""Erin and Alice record versions of a dataset in an object store, and see what changed."""

import re

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import is_recorded
from playground.story.story import Story

SETUP = Setup(bucket=True)
_ADD = '/dataset add chest-xray s3://lake/chest-xray/ --description "frontal views"'


async def play(story: Story) -> None:
    """Add, version, new content, version, diff, show, list; with real bytes and a real worker."""
    alice, bob = story.person("Alice"), story.person("Bob")
    for number in range(12):
        story.bucket.put(f"chest-xray/train/{number:02}.png", bytes(1000 + number))
    story.bucket.put("chest-xray/labels.csv", b"image,finding\n")
    await _wrong_words_are_explained(alice, bob)
    await alice.types("#team-a", _ADD)
    await alice.is_told(
        "Added dataset chest-xray of team-a. Readers: no other team.",
        "/dataset version chest-xray records the first version.",
    )
    first = await is_recorded(story, alice, "v1", "13 objects, 12 kB")
    await first.shows("13", "12 kB (12,080 bytes)", re.compile("sha256:[0-9a-f]{64}"))
    await _nothing_new_is_no_version(story, alice)
    story.bucket.put("chest-xray/labels.csv", b"image,finding\n00.png,none\n")
    story.bucket.put("chest-xray/train/12.png", bytes(5000))
    story.bucket.remove("chest-xray/train/00.png")
    await is_recorded(story, alice, "v2", "13 objects, 16 kB", "--note", '"cleaned labels"')
    await _what_changed_is_told(alice)
    await _others_see_what_they_may(alice, bob)


async def _wrong_words_are_explained(alice: Person, bob: Person) -> None:
    await alice.types("#team-a", "/dataset ad chest-xray s3://lake/chest-xray/")
    await alice.is_told("Did you mean /dataset add?")
    await alice.types("#team-a", "/dataset add chest-xray https://lake/chest-xray/")
    await alice.is_told("a bucket and a folder in it such as s3://lake/chest-xray/")
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/ --store lak")
    await alice.is_told("There is no store lak.", "Did you mean lake?")
    await alice.types("#team-a", "/dataset version chest-xray")
    await alice.is_told("There is no dataset chest-xray for team-a.")
    await bob.types("#team-b", "/dataset add mine s3://lake/chest-xray/")
    await bob.is_told(
        "team-b may not read s3://lake/chest-xray/.",
        "team-b may use s3://lake/team-b/ in store lake.",
    )
    await bob.types("#team-b", "/dataset add mine s3://lake/team-b/../chest-xray/")
    await bob.is_told("without ., .. or //, not s3://lake/team-b/../chest-xray/.")


async def _nothing_new_is_no_version(story: Story, alice: Person) -> None:
    await alice.types("#team-a", "/dataset version chest-xray --name v1 --note again")
    await alice.is_told(
        "chest-xray already has a version v1, and a named version never changes.", "v2 is free."
    )
    await alice.types("#team-a", "/dataset version chest-xray --name same")
    await alice.is_told("Recording chest-xray@same")
    card = await story.card("#team-a", "chest-xray@same")
    await card.shows("No changes since v1", "the name same is still free")
    await alice.is_mentioned("#team-a", "chest-xray has not changed since v1", thread=card)


async def _what_changed_is_told(alice: Person) -> None:
    await alice.types("#team-a", "/dataset diff chest-xray@v1 chest-xray@v2")
    await alice.is_told("Comparing chest-xray@v1 with chest-xray@v2")
    await alice.is_told(
        "chest-xray@v1 → chest-xray@v2",
        "Added: train/12.png",
        "Removed: train/00.png",
        "Changed: labels.csv",
    )
    await alice.types("#team-a", "/dataset diff chest-xray@v1 chest-xray@v3")
    await alice.is_told("chest-xray has no version v3.", "Available: v2, v1.")
    await alice.types("#team-a", "/dataset show chest-xray")
    await alice.is_told("chest-xray", "frontal views", "Owner: team-a", "cleaned labels")
    await alice.types("#team-a", "/dataset show chest-xray@v2")
    await alice.is_told("chest-xray@v2", "Recorded", "Parents: v1", "cleaned labels")


async def _others_see_what_they_may(alice: Person, bob: Person) -> None:
    await alice.types("#team-a", "/dataset list")
    await alice.is_told("Datasets for team-a", "chest-xray | team-a | v2 and 1 older | 13 | 16 kB")
    await bob.types("#team-b", "/dataset list")
    await bob.is_told("Datasets for team-b", "No datasets yet.")
    await bob.types("#team-b", "/dataset show chest-xray")
    await bob.is_told("There is no dataset chest-xray for team-b.")
