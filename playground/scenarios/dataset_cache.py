"""Two teams cache a version at the same moment: one fill serves both; a copy survives changes."""

import asyncio
import re

from playground.bucket import NAMESPACE
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_recorded
from playground.story.story import Story

SETUP = Setup(bucket=True)
_WRITES = {f"{verb} persistentvolumeclaims" for verb in ("create", "delete")}
_ADD = "/dataset add chest-xray s3://lake/chest-xray/ --readers team-b"
# Whoever clicks second joins.
_IS_CACHED = re.compile("(Caching chest-xray@v1|chest-xray@v1 is already being cached) on premium")
_CACHE = "/dataset cache chest-xray"
_NEW = {f"chest-xray/train/{number:02}.png": bytes(1000 + number) for number in range(12)}


async def play(story: Story) -> None:
    """Add, version, cache by two teams at once, one fill with real bytes; then a failure."""
    story.allowed_writes |= _WRITES
    alice, bob = story.person("Alice"), story.person("Bob")
    for key, content in _NEW.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", _ADD)
    await alice.is_told("Added dataset chest-xray of team-a. Readers: team-b.")
    await is_recorded(story, alice, "v1", "12 objects, 12 kB.")
    await _wrong_words_are_explained(alice)
    await _two_teams_ask_at_once(story, alice, bob)
    await _what_is_there_is_told(story, alice)
    await _content_that_changed_is_refused(story, alice)
    await _a_copy_survives_overwriting(story, alice)


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"{_CACHE}@v1 --class premum")
    await alice.is_told("Storage class premum is not used for caching.", "Did you mean premium?")
    await alice.types("#team-a", f"{_CACHE}@v1 --size 8Ki")
    await alice.is_told("8 KiB is too small: chest-xray@v1 has 12 files, 12 kB")
    await alice.types("#team-a", f"{_CACHE}@v1 --for team-c")
    await alice.is_told("There is no team team-c.")


async def _two_teams_ask_at_once(story: Story, alice: Person, bob: Person) -> None:
    """Whoever is first, there is one volume, one fill, and a card for each team."""
    people: tuple[tuple[Person, str], ...] = ((alice, "#team-a"), (bob, "#team-b"))
    if story.unreliable:
        # What only she sees may be lost with the bot, and a button with it; and nobody knows
        # whether it is ready when the bot hears Bob.
        people = people[:1]
        await alice.types("#team-a", f"{_CACHE}@v1 --yes")
    else:
        offers = [await _is_offered(person, channel) for person, channel in people]
        clicks = zip(people, offers, strict=True)
        await asyncio.gather(*(person.clicks(card, "Cache it") for (person, _), card in clicks))
        for person, _ in people:
            await person.is_told(_IS_CACHED)
    for person, channel in people:
        card = await story.card(channel, "chest-xray@v1 on premium")
        await card.shows("Ready", "all 12: 12 by MD5", "1 GiB on premium")
        said = "chest-xray@v1 is cached on premium: 12 files, 12 kB."
        await person.is_mentioned(channel, said, thread=card)
    (claim,) = story.objects("persistentvolumeclaims", NAMESPACE)
    names = {key.removeprefix("chest-xray/"): content for key, content in _NEW.items()}
    if story.files(NAMESPACE, claim) != names:
        story.fail(f"what is cached is not what was recorded: {story.files(NAMESPACE, claim)}")


async def _is_offered(person: Person, channel: str) -> Card:
    await person.types(channel, f"{_CACHE}@v1")
    offer = await person.is_told(
        "Cache chest-xray@v1?",
        "12 files, 12 kB (12,066 bytes)",
        "1 GiB on premium",
        "20 TiB of 20 TiB (budget in quartermaster.yaml)",
        "1s at best, at the throughput of the volume",
        "1d after its last use",
    )
    assert offer is not None  # noqa: S101 - only an unreliable story has none
    return offer


async def _what_is_there_is_told(story: Story, alice: Person) -> None:
    await alice.types("#team-a", f"{_CACHE}@v1")
    await alice.is_told(
        "chest-xray@v1 has been cached on premium since", "This request counts as use"
    )
    if len(story.objects("persistentvolumeclaims", NAMESPACE)) != 1:
        story.fail("a second volume was made")


async def _content_that_changed_is_refused(story: Story, alice: Person) -> None:
    """What was recorded is not there any more: said clearly, and nothing is left of the attempt."""
    story.bucket.put("chest-xray/train/00.png", bytes(2000))
    await is_recorded(story, alice, "v2", "12 objects")
    story.bucket.put("chest-xray/train/01.png", bytes(3000))
    await alice.types("#team-a", f"{_CACHE}@v2 --yes")
    await alice.is_told("Caching chest-xray@v2 on premium.")
    card = await story.card("#team-a", "chest-xray@v2 on premium")
    await card.shows("Not cached", "train/01.png", re.compile("changed|not the one"))
    await alice.is_mentioned(
        "#team-a", "chest-xray@v2 was not cached.", "/dataset version chest-xray", thread=card,
        broadcast=True,
    )  # fmt: skip
    await story.until(
        lambda: len(story.objects("persistentvolumeclaims", NAMESPACE)) == 1,
        lambda: f"{story.objects('persistentvolumeclaims', NAMESPACE)} are still there",
    )
    await alice.clicks(card, "Record a new version")
    await alice.is_told("Recording chest-xray@v3")
    recorded = await story.card("#team-a", "chest-xray@v3")
    await recorded.shows("Recorded")
    await alice.is_mentioned("#team-a", "chest-xray@v3 is recorded", thread=recorded)


async def _a_copy_survives_overwriting(story: Story, alice: Person) -> None:
    """The bucket keeps no versions, so what is overwritten comes from the copy."""
    kept = story.bucket.objects("chest-xray/")
    await alice.types("#team-a", "/dataset version chest-xray --name kept --copy")
    await alice.is_told("v3 has 12 objects", "/dataset version chest-xray --name kept --copy --yes")
    await alice.types("#team-a", "/dataset version chest-xray --name kept --copy --yes")
    await alice.is_told("Recording chest-xray@kept. Its objects are listed, then copied.")
    survey = await story.card("#team-a", "chest-xray@kept")
    await survey.shows("No changes since v3")
    await alice.is_mentioned("#team-a", "Its copy is complete: 12 objects", thread=survey)
    story.bucket.put("chest-xray/train/02.png", bytes(4000))
    story.bucket.remove("chest-xray/train/03.png")
    await alice.types("#team-a", f"{_CACHE}@v3 --yes")
    await alice.is_told("Caching chest-xray@v3 on premium.")
    card = await story.card("#team-a", "chest-xray@v3 on premium")
    await card.shows("Ready", "all 12: 12 by MD5")
    await alice.is_mentioned("#team-a", "chest-xray@v3 is cached on premium", thread=card)
    claims = story.objects("persistentvolumeclaims", NAMESPACE)
    if kept not in [story.files(NAMESPACE, claim) for claim in claims]:
        story.fail("what is cached is not what was recorded before it was overwritten")
    await alice.types("#team-a", "/dataset remove chest-xray@v3 --copy --yes")
    await alice.is_told("Removing the copy of chest-xray@v3.")
    removal = await story.card("#team-a", "Copy of chest-xray@v3")
    said = "Removed the copy of chest-xray@v3: 12 objects"
    await removal.shows("Removed", said)
    await alice.is_mentioned("#team-a", said, thread=removal)
