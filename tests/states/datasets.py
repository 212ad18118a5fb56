"""States of the cards of dataset versions, caches and pushes."""

from collections.abc import Iterator
from typing import Any

from bot.datasets.caches.notices import CHANGED
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase, VersionUse
from bot.datasets.drops.tables import Drop, DroppedFile, DropPhase, kept
from bot.datasets.tables import CopyState, Dataset, Push, PushPhase, Version, VersionPhase
from tests.handlers.command_client import ALICE
from tests.states.state import DAY, HOUR, ID, MINUTE, NOW, SILENT, State, card, usual

GIB = 2**30
DIGEST = "sha256:" + "9f2b1c77" * 8
OBJECTS, SIZE = 627_615, 250_000_000_000
OTHER = "019aa64b-2e00-7000-8000-0000ba5e0001"
COPIES = "s3://qm-state/prod/copies/1/"
ASK = "Ask a platform admin."


def dataset() -> Dataset:
    """The dataset of team-a."""
    return Dataset(
        id="dataset", workspace_id="T0QM", name="chest-xray", team="team-a", store="lake",
        source="s3://lake/chest-xray/", person=ALICE, added_at=NOW - 9 * DAY, is_open=True,
    )  # fmt: skip


def version(**more: Any) -> Version:
    """The survey of a version, which began four minutes ago."""
    fields = usual(
        dataset_id="dataset", dataset="chest-xray", name="v3", namespace="datasets",
        job_name="survey", store="lake", source="s3://lake/chest-xray/", manifest_store="lake",
        manifest="s3://qm-state/prod/manifests/1/", asked_at=NOW - 4 * MINUTE,
        since=NOW - 4 * MINUTE,
    )  # fmt: skip
    return Version(**(fields | more))


def recorded(**more: Any) -> Version:
    """One that is recorded."""
    return version(**{
        "phase": VersionPhase.READY, "started_at": NOW - 3 * DAY - 6 * MINUTE,
        "ended_at": NOW - 3 * DAY, "asked_at": NOW - 3 * DAY - 7 * MINUTE, "digest": DIGEST,
        "objects": OBJECTS, "size_bytes": SIZE, "is_cleared": True, **more,
    })  # fmt: skip


def cache(**more: Any) -> Cache:
    """Its cache on standard."""
    fields = usual(
        version_id=OTHER, dataset_id="dataset", reference="chest-xray@v3", digest=DIGEST,
        objects=OBJECTS, size_bytes=SIZE, namespace="datasets", storage_class="standard",
        capacity_bytes=300 * GIB, claim_name="chest-xray-v3", job_name="chest-xray-v3",
        asked_at=NOW - 21 * MINUTE, used_at=NOW - 21 * MINUTE, since=NOW - 20 * MINUTE,
        started_at=NOW - 20 * MINUTE, keep_seconds=1_209_600, teams=["team-b"],
    )  # fmt: skip
    return Cache(**(fields | more))


def filled(**more: Any) -> Cache:
    """One that is ready."""
    return cache(**{
        "phase": CachePhase.READY, "ready_at": NOW - MINUTE, "bytes_done": SIZE,
        "files_done": OBJECTS, "verified_by": {"etag": OBJECTS}, "verified_bytes": {"etag": SIZE},
        **more,
    })  # fmt: skip


def push(**more: Any) -> Push:
    """The results of a run on their way into the store."""
    fields = usual(
        namespace="datasets", claim_namespace="team-a", claim_name="results", claim_uid="uid",
        storage_class="anf-premium", capacity_bytes=500 * GIB, folder="/run-7", store="lake",
        target="s3://lake/run-7/", share_id="share", job_name="push-1", asked_at=NOW - 10 * MINUTE,
        since=NOW - 8 * MINUTE, dataset="run-7",
    )  # fmt: skip
    return Push(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    yield from _versions()
    yield from _copied()
    yield from _recorded()
    yield from _caches()
    yield from _ends_of_caches()
    yield from _pushes()


def _versions() -> Iterator[State]:
    yield card("version-asked", version(), dataset())
    late = {"is_late": True, "obstacle": "No node can run its pod: 0/2 nodes are available."}
    yield card("version-starting-late", version(phase=VersionPhase.STARTING, **late), dataset())
    yield card("version-retrying", version(trouble=SILENT), dataset())
    listing = {"started_at": NOW - 2 * MINUTE, "read_at": NOW, "objects_seen": 412_000}
    yield card(
        "version-listing",
        version(phase=VersionPhase.LISTING, bytes_seen=164_000_000_000, **listing),
        dataset(),
    )
    same = {"phase": VersionPhase.UNCHANGED, "same_as": OTHER, "ended_at": NOW, "name": "v4"}
    yield card(
        "version-unchanged",
        version(**same, digest=DIGEST, objects=OBJECTS, size_bytes=SIZE),
        dataset(),
        recorded(id=OTHER),
    )
    why = {"reason": "The keys of store lake may not list s3://lake/chest-xray/.", "unblock": ASK}
    failed = version(phase=VersionPhase.FAILED, ended_at=NOW, **why)
    yield card("version-failed", failed, dataset())


def _copied() -> Iterator[State]:
    """Versions with copies, and the removal of one."""
    wanted = {"copy_state": CopyState.WANTED, "copies": COPIES, "copy_price": 0.02}
    copying = {"started_at": NOW - 2 * MINUTE, "read_at": NOW, "objects_seen": 412_000,
               "bytes_seen": 164_000_000_000, "objects": OBJECTS, "size_bytes": SIZE}  # fmt: skip
    going = version(phase=VersionPhase.COPYING, **copying, **wanted)
    yield card("version-copying", going, dataset())
    made = {"copy_state": CopyState.MADE, "copied_files": 1_204, "copied_bytes": 6_000_000_000,
            "verified_by": {"md5": 1_204}, "verified_bytes": {"md5": 6_000_000_000}}  # fmt: skip
    yield card("version-with-copy", recorded(**wanted | made), dataset())
    sweep = {"is_sweep": True, "copies": COPIES, "copy_price": 0.02, "digest": None}
    yield card("version-copy-removing", version(phase=VersionPhase.LISTING, **sweep), dataset())
    gone = {"phase": VersionPhase.REMOVED, "ended_at": NOW, "objects": OBJECTS, "size_bytes": SIZE,
            "copied_files": 1_204, "copied_bytes": 6_000_000_000}  # fmt: skip
    yield card("version-copy-removed", version(**sweep | gone), dataset())


def _recorded() -> Iterator[State]:
    uses = VersionUse(version_id=ID, subject_kind="run", subject_id="run",
                      who="run lane of team-a", at=NOW - HOUR)  # fmt: skip
    yield card("version-recorded", recorded(note="1,204 studies more"), dataset(), uses)
    cached = filled(id=OTHER, version_id=ID)
    yield card("version-cached", recorded(made_by=["lane#2"]), dataset(), cached)
    bad = {"problems": 2, "keys": ["a/../b.png", "scans/"]}
    yield card("version-with-unfit-keys", recorded(**bad), dataset())


def _caches() -> Iterator[State]:
    there = (dataset(), recorded(id=OTHER))
    yield card("cache-asked", cache(started_at=None), *there)
    yield card("cache-retrying", cache(started_at=None, trouble=SILENT), *there)
    pull = {"obstacle": "Its image cannot be pulled: not found.", "is_late": True}
    yield card("cache-starting-late", cache(phase=CachePhase.STARTING, **pull), *there)
    part = {"files_done": 301_255, "bytes_done": 120_000_000_000, "bytes_per_second": 205e6}
    yield card("cache-filling", cache(phase=CachePhase.FILLING, stage="copying", **part), *there)
    names = {"phase": CachePhase.FILLING, "stage": "importing", "files_done": 301_255}
    yield card("cache-importing-names", cache(**names), *there)
    whole = {"files_done": OBJECTS, "bytes_done": SIZE}
    finishing = cache(phase=CachePhase.FILLING, stage="finishing", **whole)
    yield card("cache-finishing", finishing, *there)
    late = "Late: nothing has been copied for 12m."
    yield card(
        "cache-filling-late",
        cache(phase=CachePhase.FILLING, is_late=True, obstacle=late, **part),
        *there,
    )
    yield card("cache-arranging", cache(phase=CachePhase.ARRANGING, layout="webdataset"), *there)
    yield card("cache-ready", filled(), *there)
    unused = "It has been unused for 13d; it is kept 14d after its last use."
    yield card(
        "cache-expiring", filled(leaves_at=NOW + DAY, noticed_at=NOW, evict_why=unused), *there
    )


def _ends_of_caches() -> Iterator[State]:
    there = (dataset(), recorded(id=OTHER))
    why = "It has been unused for 14d; it is kept 14d after its last use."
    going = {"wanted": CacheIntent.EVICT, "evict_why": why, "evict_at": NOW}
    yield card("cache-eviction-pending", filled(**going), *there)
    yield card("cache-evicting", filled(**going, phase=CachePhase.EVICTING), *there)
    gone = {"phase": CachePhase.EVICTED, "ended_at": NOW, "freed_bytes": 300 * GIB}
    yield card("cache-evicted", filled(**going, **gone), *there)
    slow = {
        "reason": "It was not filled within 4h.",
        "unblock": "Ask a platform admin why the store or the volume is slow, or use a larger"
        " volume: on many classes it is faster.",
        "stage": "deadline",
    }
    yield card("cache-failed", cache(phase=CachePhase.FAILED, ended_at=NOW, **slow), *there)
    moved = {
        "reason": "2 objects have changed since chest-xray@v3 was recorded.",
        "unblock": "Record a new version and cache that.",
        "keys": ["train/00017.png", "train/00018.png"],
        "stage": CHANGED,
    }
    yield card(
        "cache-failed-source-changed",
        cache(phase=CachePhase.FAILED, ended_at=NOW, **moved),
        *there,
    )


def _pushes() -> Iterator[State]:
    yield card("push-asked", push())
    waits = {"obstacle": "Its image cannot be pulled: not found.", "is_late": True}
    yield card("push-starting-late", push(phase=PushPhase.STARTING, **waits))
    yield card("push-retrying", push(trouble=SILENT))
    going = {"phase": PushPhase.COPYING, "started_at": NOW - 8 * MINUTE}
    some = {"files_total": 1_200, "bytes_total": 48_000_000_000}
    yield card("push-listing", push(**going, stage="listing", **some))
    part = some | {"files_done": 480, "bytes_done": 19_200_000_000, "bytes_per_second": 40e6}
    yield card("push-copying", push(**going, stage="copying", **part))
    yield card("push-verifying", push(**going, stage="verifying", **part))
    yield card("push-stopping", push(**going, stage="copying", stopped_by=ALICE, **part))
    done = {
        "phase": PushPhase.PUSHED, "started_at": NOW - 20 * MINUTE, "ended_at": NOW,
        "files_done": 1_200, "bytes_done": 48_000_000_000, "copied_files": 1_180,
        "copied_bytes": 47_000_000_000, "verified_by": {"etag": 1_200}, "links": 3, "others": 2,
        "verified_bytes": {"etag": 48_000_000_000},
    }  # fmt: skip
    made = recorded(id=OTHER, dataset="run-7", name="v1")
    yield card("push-done", push(**done, version_id=OTHER), dataset(), made)
    none = "The name run-7 is taken by a dataset of another team."
    yield card("push-done-without-version", push(**done, unrecorded=none))
    shot = {"snapshot": "monday", "snapshot_at": NOW - DAY, "retained": "pvc-0c12"}
    yield card("push-done-from-snapshot", push(**done, **shot, dataset=""))
    computer = {
        "box": "s3://state/uploads/push-1/", "box_store": "state", "share_id": "",
        "claim_namespace": "", "claim_name": "", "storage_class": "", "capacity_bytes": 0,
    }  # fmt: skip
    yield card("push-from-computer-asked", push(**computer))
    yield card("push-from-computer-waiting", push(**going, **computer, stage="waiting"))
    yield card("push-from-computer-copying", push(**going, **computer, stage="copying", **part))
    yield card(
        "push-from-computer-done", push(**done, **computer, version_id=OTHER), dataset(), made
    )
    yield from _drops(computer | {"message": "1764230400.000100"}, done, going)
    why = {
        "reason": "The keys of store lake may not write to s3://lake/run-7/.",
        "unblock": ASK, "keys": ["run-7/metrics.json"],
    }  # fmt: skip
    yield card("push-failed", push(phase=PushPhase.FAILED, ended_at=NOW, **why))


def drop(phase: DropPhase, **more: Any) -> Drop:
    """The files of a message, of which two have the same name."""
    names = ("labels.csv", "image.png", "image.png")
    keys = ("labels.csv", "image.png", "image-2.png")
    found = [
        DroppedFile(f"F{n}", name, key, 1_200_000)
        for n, (name, key) in enumerate(zip(names, keys, strict=True))
    ]
    fields: dict[str, Any] = {
        "id": ID, "workspace_id": "T0QM", "channel": "C0TEAMA", "ts": "1764230400.000100",
        "thread_ts": "1764230400.000100", "asked_at": NOW - 10 * MINUTE, "phase": phase,
        "files": [] if phase is DropPhase.FINDING else kept(found),
    }  # fmt: skip
    return Drop(**(fields | more))


def _drops(slack: dict[str, Any], done: dict[str, Any], going: dict[str, Any]) -> Iterator[State]:
    yield card("push-from-slack-finding", push(**slack), drop(DropPhase.FINDING))
    slow = "Slack did not answer (file_download, ReadTimeoutError)."
    reading = drop(DropPhase.READING, trouble=slow)
    yield card("push-from-slack-reading", push(**slack, phase=PushPhase.STARTING), reading)
    sending = drop(DropPhase.SENDING, turns=1)
    yield card("push-from-slack-sending", push(**going, **slack, stage="waiting"), sending)
    made = recorded(id=OTHER, dataset="run-7", name="v1")
    yield card(
        "push-from-slack-done", push(**done, **slack, version_id=OTHER), dataset(), made,
        drop(DropPhase.ENDED),
    )  # fmt: skip
