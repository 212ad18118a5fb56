"""A dataset is recorded, pushed and cached in two clusters, and runs read the cache of theirs."""

import hashlib
import sys
from typing import Any

from playground.bucket import NAMESPACE
from playground.scenarios.dataset_put import is_granted, pushed_from
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, is_recorded, submits
from playground.story.story import Story

READER = "ghcr.io/acme/reader:1.0"
_READ = """
import hashlib, pathlib, sys
files = sorted(each for each in pathlib.Path(sys.argv[1]).rglob("*") if each.is_file())
digest = hashlib.sha256(b"".join(each.read_bytes() for each in files))
print("read", len(files), "files with", digest.hexdigest()[:12])
"""
_CONTENT = {f"chest-xray/{number:02}.png": bytes([number]) * 1000 for number in range(12)}
_LAB = "chest-xray@v1 on premium of cluster lab"
_DEFAULT = "chest-xray@v1 on premium of cluster default"
_DATA = f"--image {READER} --data chest-xray:/data"
_DATASETS: dict[str, Any] = {
    "static_drivers": ["csi.playground"],
    "clusters": {"lab": {"classes": {"premium": {"budget": "10Gi"}}}},
}


SETUP = Setup(
    bucket=True,
    clusters={"default": "kueue", "lab": "kueue"},
    settings={
        "teams": {"team-a": {"clusters": ["default", "lab"]}},
        "datasets": _DATASETS,
        "templates": {"dgx": {"gpu_type": "h100"}, "burst": {"cluster": "lab"}},
    },
)


async def play(story: Story) -> None:
    """Cached on the second cluster and read there; offered on the first; evicted from one."""
    story.allowed_writes |= {f"{each} persistentvolumeclaims" for each in ("create", "delete")}
    story.allowed_writes |= {f"{each} persistentvolumes" for each in ("create", "delete")}
    alice = story.person("Alice")
    for cluster in story.world.clusters.values():
        cluster.programs.images[READER] = (sys.executable, "-c", _READ, "/data")
    for key, content in _CONTENT.items():
        story.bucket.put(key, content)
    await alice.types("#team-a", "/dataset add chest-xray s3://lake/chest-xray/")
    await alice.is_told("Added dataset chest-xray of team-a.")
    recorded = await is_recorded(story, alice, "v1", "12 objects, 12 kB.", "--cluster lab")
    await recorded.shows("Cluster", "lab")
    there = await _is_cached(story, alice, "lab", _LAB)
    await _is_said_where(alice)
    run = await submits(story, alice, "#team-a", "there", f"{_DATA} --cluster lab")
    await _has_read(story, alice, run, "there")
    await _a_template_that_lacks_it_offers_it(story, alice)
    await _one_is_evicted(story, alice, there)
    await _files_arrive_there(story, alice)


async def _is_cached(story: Story, alice: Person, cluster: str, place: str) -> Card:
    await alice.types("#team-a", f"/dataset cache chest-xray@v1 --cluster {cluster} --yes")
    await alice.is_told(f"Caching {place}.")
    card = await story.card("#team-a", place)
    await card.shows("Ready", "Verified: all 12")
    said = place.replace(" on ", " is cached on ")
    await alice.is_mentioned("#team-a", said, thread=card)
    return card


async def _is_said_where(alice: Person) -> None:
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --cluster moon")
    await alice.is_told("team-a has no cluster moon.", "It has: default, lab.")
    await alice.types("#team-a", "/dataset put chest-xray --cluster moon")
    await alice.is_told("team-a has no cluster moon.", "It has: default, lab.")
    await alice.types("#team-a", "/dataset cache chest-xray@v1 --cluster lab --size 20Gi --yes")
    await alice.is_told("chest-xray@v1 has been cached on premium of cluster lab since")
    await alice.types("#team-a", "/dataset usage")
    await alice.is_told(
        "default | premium | 0 | 0 bytes | 0 bytes | 20 TiB | 20 TiB (budget)",
        "lab | premium | 1 | 1 GiB | 12 kB | 9 GiB | 10 GiB (budget)",
    )


async def _a_template_that_lacks_it_offers_it(story: Story, alice: Person) -> None:
    """The run waits on the first template for its cache there; the second has one."""
    if story.unreliable:
        # What only she sees may be lost with the bot, and a button with it.
        await _is_cached(story, alice, "default", _DEFAULT)
        run = await submits(story, alice, "#team-a", "both", f"{_DATA} --on dgx,burst")
        await _has_read(story, alice, run, "both")
        return
    await alice.types("#team-a", f"/train submit both {_DATA} --on dgx,burst")
    offer = await alice.is_told(
        "Cache chest-xray@v1 and run both?",
        "chest-xray@v1 is not cached on cluster default.",
        "1 GiB on premium of cluster default",
    )
    assert offer is not None  # noqa: S101 - only an unreliable story has none
    await alice.clicks(offer, "Cache it and run")
    await alice.is_told(f"Caching {_DEFAULT}", "Submitted run both", "It waits on dgx")
    run = await story.card("#team-a", "both", "chest-xray@v1 at /data, read-only")
    cache = await story.card("#team-a", _DEFAULT)
    said = _DEFAULT.replace(" on ", " is cached on ")
    await alice.is_mentioned("#team-a", said, thread=cache)
    await _has_read(story, alice, run, "both")


async def _has_read(story: Story, alice: Person, card: Card, name: str) -> None:
    digest = hashlib.sha256(b"".join(_CONTENT[key] for key in sorted(_CONTENT)))
    await is_admitted(story, card)
    await card.shows("Succeeded", f"read 12 files with {digest.hexdigest()[:12]}")
    await alice.is_mentioned("#team-a", f"{name} succeeded", thread=card)


async def _one_is_evicted(story: Story, alice: Person, there: Card) -> None:
    await alice.types("#team-a", "/dataset evict chest-xray@v1")
    await alice.is_told("chest-xray@v1 has several caches:", "--class premium --cluster")
    await alice.types("#team-a", "/dataset evict chest-xray@v1 --cluster lab")
    await alice.is_told("Checking what needs chest-xray@v1")
    if story.unreliable:
        return
    asked = await alice.is_told("Evicting chest-xray@v1 frees 1 GiB of premium of cluster lab.")
    assert asked is not None  # noqa: S101 - as above
    await alice.clicks(asked, "Evict")
    await alice.is_told("Evicting chest-xray@v1 from premium of cluster lab.")
    await there.shows("Evicted", "Freed 1 GiB.")
    await story.reply(there, "Evicted chest-xray@v1 from premium of cluster lab.")
    await alice.types("#team-a", "/dataset show chest-xray@v1")
    await alice.is_told(f"{_DEFAULT}: ready, 1 GiB, for team-a")


async def _files_arrive_there(story: Story, alice: Person) -> None:
    """A folder of her computer becomes a dataset, by Jobs of the second cluster."""
    target = "s3://lake/faces/"
    await alice.types("#team-a", f"/dataset put faces --to {target} --cluster lab")
    await alice.is_told(f"Preparing a push from your computer to {target}.")
    card = await story.card("#team-a", f"Local folder to {target}")
    await card.shows("Waiting for files", "Cluster", "lab")
    await alice.is_mentioned("#team-a", f"files for {target} can be pushed now", thread=card)
    jobs = story.world.clusters["lab"].list("jobs", NAMESPACE)
    if not any(each["metadata"]["name"].startswith("push-faces") for each in jobs):
        story.fail("no Job of cluster lab receives the files")
    if story.unreliable:
        return
    folder = story.bucket.folder / "computer"
    folder.mkdir()
    (folder / "labels.csv").write_bytes(b"study,label\n")
    said = await pushed_from(folder, await is_granted(story, alice, card))
    if f"1 file, 12 bytes, are in {target} and verified" not in said:
        story.fail(f"the command printed: {said}")
    await card.shows("Pushed", "It is recorded as faces@v1")
    told = f"Local folder was pushed to {target}: 1 file, 12 bytes."
    await alice.is_mentioned("#team-a", told, "Recording it as faces@v1.", thread=card)
    version = await story.card("#team-a", "faces@v1")
    await version.shows("Recorded", "Cluster", "lab")
    await alice.is_mentioned("#team-a", "faces@v1 is recorded: 1 object, 12 bytes.", thread=version)
