"""A dataset's day: cached once, read by two teams, unused, announced, extended, and evicted."""

import re
import sys
from datetime import timedelta

from playground.bucket import NAMESPACE
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, is_recorded
from playground.story.story import Story

READER = "ghcr.io/acme/reader:1.0"
_READ = """
import pathlib, sys
files = [each for each in pathlib.Path(sys.argv[1]).rglob("*") if each.is_file()]
print("read", sum(each.stat().st_size for each in files), "bytes of", len(files), "files")
"""
_CONTENT = {f"chest-xray/train/{number:02}.png": bytes(1000) for number in range(12)}
_CACHE = "chest-xray@v1 on premium"
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_STAYS = "chest-xray@v1 stays on premium."


def _arrange(cluster: Cluster, _workspace: Workspace) -> None:
    cluster.programs.images[READER] = (sys.executable, "-c", _READ, "/data")


SETUP = Setup(
    bucket=True,
    arrange=_arrange,
    settings={"datasets": {"static_drivers": ["csi.playground"], "keep": "2h", "notice": "30m"}},
)


async def play(story: Story) -> None:
    """Add, version, cache, two runs, a notice that is answered, and one that is not."""
    writes = {f"{verb} {plural}" for verb in ("create", "delete") for plural in (_CLAIMS, _VOLUMES)}
    story.allowed_writes |= writes
    alice, bob = story.person("Alice"), story.person("Bob")
    for key, content in _CONTENT.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/ --readers team-b")
    await alice.is_told("Added dataset chest-xray of team-a. Readers: team-b.")
    await is_recorded(story, alice, "v1", "12 objects, 12 kB.")
    cards = await _is_cached(story, alice)
    await _has_read(story, alice, "#team-a")
    await _has_read(story, bob, "#team-b")
    await _use_is_told(alice, bob)
    await _a_pin_is_respected(alice, bob)
    await _a_notice_is_answered(story, alice, cards)
    await _silence_evicts(story, alice, bob, cards)


async def _is_cached(story: Story, alice: Person) -> Card:
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --for team-b --yes")
    await alice.is_told("Caching chest-xray@v1 on premium")
    card = await story.card("#team-a", _CACHE)
    await card.shows("Ready", "all 12: 12 by MD5", "team-a, team-b")
    said = "chest-xray@v1 is cached on premium: 12 files, 12 kB."
    await alice.is_mentioned("#team-a", said, thread=card)
    return card


async def _has_read(story: Story, person: Person, channel: str) -> None:
    submit = f"/train submit reader --image {READER} --data chest-xray@v1:/data"
    await person.types(channel, submit)
    await person.is_told("Submitted run reader", "Data: chest-xray@v1 at /data.")
    run = await story.card(channel, "reader", "chest-xray@v1 at /data, read-only")
    await is_admitted(story, run)
    await run.shows("Succeeded", "read 12000 bytes of 12 files")
    await person.is_mentioned(channel, "reader succeeded", thread=run)


async def _use_is_told(alice: Person, bob: Person) -> None:
    await alice.types("#team-a", "/dataset list")
    await alice.is_told("chest-xray | team-a | v1 | 12 | 12 kB", "v1 on premium")
    await bob.types("#team-b", "/dataset usage")
    await bob.is_told(
        "Fast storage for datasets",
        f"{_CACHE} (1 GiB): will be evicted in",
        "team-a: 1 cache, 1 GiB committed, 12 kB of data",
        "premium | 1 | 1 GiB | 12 kB | 20 TiB | 20 TiB (budget)",
    )


async def _a_pin_is_respected(alice: Person, bob: Person) -> None:
    await bob.types("#team-b", '/dataset pin chest-xray@v1 --reason "baseline" --for 1h')
    await bob.is_told(f"{_CACHE} is pinned until", "/dataset unpin chest-xray@v1 removes the pin.")
    await alice.types("#team-a", "/dataset evict chest-xray@v1")
    await alice.is_told("Checking what needs chest-xray@v1")
    kept = "chest-xray@v1 cannot be evicted from premium."
    await alice.is_told(kept, "@Bob has pinned it for another", "baseline")
    await bob.types("#team-b", "/dataset evict chest-xray@v1")
    await bob.is_told(f"{_CACHE} was cached by team-a; only that team can evict it.")


async def _a_notice_is_answered(story: Story, alice: Person, card: Card) -> None:
    notice = await _is_announced(story, alice, card, timedelta(minutes=100))
    await notice.offers("Extend 1d", "Pin for 7d", "Evict now")
    await alice.clicks(notice, "Extend 1d")
    await alice.is_told(_STAYS, "Unless it is used, it will be evicted")
    await story.reply(card, _STAYS, "@Alice has extended it.")
    await story.card("#team-b", _STAYS, "@Alice has extended it.")
    await card.shows("Ready", "@Alice has extended it.")


async def _silence_evicts(story: Story, alice: Person, bob: Person, card: Card) -> None:
    """The bot is away when its time comes, so that it is announced anew first."""
    await story.time_leaps(timedelta(days=2))
    await _is_announced(story, alice, card, timedelta(minutes=10))
    await story.pass_time(timedelta(minutes=45))
    await card.shows("Evicted", "Freed 1 GiB.")
    await story.reply(card, "Evicted chest-xray@v1 from premium.", "Freed 1 GiB.")
    for namespace in (NAMESPACE, "team-a", "team-b"):
        left = [each for each in story.objects(_CLAIMS, namespace) if "chest-xray" in each]
        if left:
            story.fail(f"{left} in {namespace} should be gone")
    await bob.types("#team-b", "/dataset show chest-xray@v1")
    await bob.is_told("chest-xray@v1", "Recorded", re.compile("sha256:[0-9a-f]{64}"))


async def _is_announced(story: Story, alice: Person, card: Card, after: timedelta) -> Card:
    await story.pass_time(after)
    said = f"{_CACHE} will be evicted in"
    await story.card("#team-b", said, "To keep it, use it before then")
    return await alice.is_mentioned("#team-a", said, thread=card, broadcast=True)
