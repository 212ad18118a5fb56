"""Runs of two teams read one cache, each in its own namespace; a missing cache is offered."""

import hashlib
import re
import sys

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, is_recorded
from playground.story.story import Story

READER = "ghcr.io/acme/reader:1.0"
_READ = """
import hashlib, pathlib, sys
files = sorted(each for each in pathlib.Path(sys.argv[1]).rglob("*") if each.is_file())
digest = hashlib.sha256(b"".join(each.read_bytes() for each in files))
print("read", len(files), "files with", digest.hexdigest()[:12])
"""
_CONTENT = {f"chest-xray/train/{number:02}.png": bytes([number]) * 1000 for number in range(12)}
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.programs.images[READER] = (sys.executable, "-c", _READ, "/data")


SETUP = Setup(
    bucket=True,
    arrange=_arrange,
    settings={"datasets": {"static_drivers": ["csi.playground"]}},
)


async def play(story: Story) -> None:
    """Offered, cached, read by two teams with real bytes, and again by a run that is repeated."""
    story.allowed_writes |= {f"create {_CLAIMS}", f"create {_VOLUMES}"}
    alice, bob = story.person("Alice"), story.person("Bob")
    for key, content in _CONTENT.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/ --readers team-b")
    await alice.is_told("Added dataset chest-xray of team-a. Readers: team-b.")
    await is_recorded(story, alice, "v1", "12 objects, 12 kB.")
    await _what_is_not_there_is_refused(alice, bob)
    first = await _one_click_caches_and_runs(story, alice)
    cache = await story.card("#team-a", "chest-xray@v1 on premium")
    second = await _submits(story, bob, "#team-b", "chest-xray")
    await alice.is_mentioned("#team-a", "chest-xray@v1 is cached on premium", thread=cache)
    for person, channel, card in ((alice, "#team-a", first), (bob, "#team-b", second)):
        await _has_read(story, person, channel, card)
    await _each_team_sees_it_once(story)
    await alice.types("#team-a", "/train resubmit reader")
    await alice.is_told("Submitted run reader#2", "Data: chest-xray@v1 at /data.")
    again = await story.card("#team-a", "reader#2")
    await _has_read(story, alice, "#team-a", again)
    await _each_team_sees_it_once(story)


async def _what_is_not_there_is_refused(alice: Person, bob: Person) -> None:
    words = f"/train submit reader --image {READER} --data"
    await alice.types("#team-a", f"{words} chest-xray@v1")
    await alice.is_told("dataset@version:/path")
    await bob.types("#team-b", f"{words} chest-ray:/data")
    await bob.is_told("There is no dataset chest-ray for team-b.", "Did you mean chest-xray?")


async def _one_click_caches_and_runs(story: Story, alice: Person) -> Card:
    if story.unreliable:
        # What only she sees may be lost with the bot, and a button with it.
        await alice.types("#team-a", "/dataset cache chest-xray@v1 --yes")
        return await _submits(story, alice, "#team-a", "chest-xray@v1")
    submit = f"/train submit reader --image {READER} --data chest-xray:/data"
    await alice.types("#team-a", submit)
    offer = await alice.is_told(
        "Cache chest-xray@v1 and run reader?",
        "chest-xray@v1 is not cached. The run would wait for the copy automatically.",
        "12 files, 12 kB (12,000 bytes)",
        "1 GiB on premium",
    )
    assert offer is not None  # noqa: S101 - only an unreliable story has none
    await alice.clicks(offer, "Cache it and run")
    await alice.is_told(
        "Caching chest-xray@v1 on premium", "Submitted run reader", "chest-xray@v1 at /data."
    )
    return await story.card("#team-a", "reader", "chest-xray@v1 at /data, read-only")


async def _submits(story: Story, person: Person, channel: str, data: str) -> Card:
    await person.types(channel, f"/train submit reader --image {READER} --data {data}:/data")
    await person.is_told("Submitted run reader", "Data: chest-xray@v1 at /data.")
    return await story.card(channel, "reader", "chest-xray@v1 at /data, read-only")


async def _has_read(story: Story, person: Person, channel: str, card: Card) -> None:
    await is_admitted(story, card)
    await card.shows("Succeeded", _said())
    await person.is_mentioned(channel, re.compile("reader(#2)? succeeded"), thread=card)


def _said() -> str:
    digest = hashlib.sha256(b"".join(_CONTENT[key] for key in sorted(_CONTENT)))
    return f"read 12 files with {digest.hexdigest()[:12]}"


async def _each_team_sees_it_once(story: Story) -> None:
    for namespace, count in ((NAMESPACE, 1), ("team-a", 1), ("team-b", 1)):
        found = [each for each in story.objects(_CLAIMS, namespace) if "chest-xray" in each]
        if len(found) != count:
            story.fail(f"{namespace} should have {count} PVC of the cache, but has {found}")
