"""Decides the next step for a push. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from bot.cluster.resources import PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS, Resource
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import Job, has_condition
from bot.cluster.types.snapshots import VolumeSnapshot, VolumeSnapshotContent
from bot.datasets.caches.tables import CacheShare, SharePhase
from bot.datasets.job import silent_end, took_too_long
from bot.datasets.pushes.job import longest_time
from bot.datasets.saying import Said
from bot.datasets.tables import PUSH_ENDS, Push, PushPhase
from bot.datasets.versions.decide import SurveyObserved
from bot.durations import format_duration
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait

# A volume and a pod start within minutes, or never without intervention.
LATE_AFTER = timedelta(minutes=15)
STARTS_WITHIN = timedelta(hours=1)
GOES_ON = "Objects that are already in the store stay. Push again to copy the rest."
ADMIN = "Ask a platform admin to run `quartermaster doctor`, then push again."
_RETAIN = "Retain"


class RestoredPart(Enum):
    """One of the three objects in the namespace of datasets through which a snapshot is read."""

    CONTENT = "content"
    SNAPSHOT = "snapshot"
    CLAIM = "claim"

    @property
    def resource(self) -> Resource[Any]:
        """Its kind of Kubernetes resource."""
        return _RESOURCES[self]


_RESOURCES: dict[RestoredPart, Resource[Any]] = {
    RestoredPart.CONTENT: SNAPSHOT_CONTENTS,
    RestoredPart.SNAPSHOT: SNAPSHOTS,
    RestoredPart.CLAIM: PVCS,
}


@dataclass(frozen=True)
class Restored:
    """The observed state of a snapshot and of the objects through which it is read.

    A PVC can only be created from a snapshot in its own namespace, and the stores' keys stay in the
    namespace of datasets. So the driver's snapshot gets a second VolumeSnapshotContent there, whose
    deletion does not delete it, then a VolumeSnapshot and a PVC. All have the name of the push's
    Job.

    `source` is the team's snapshot, `origin` its VolumeSnapshotContent. `content`, `snapshot` and
    `claim` are ours; `taken` names an object of that name that is not ours. `volume` is what is
    left once the PVC is gone, `obstacle` what keeps the PVC from having one.
    """

    source: VolumeSnapshot | None = None
    origin: VolumeSnapshotContent | None = None
    content: VolumeSnapshotContent | None = None
    snapshot: VolumeSnapshot | None = None
    claim: PersistentVolumeClaim | None = None
    volume: PersistentVolume | None = None
    taken: str = ""
    obstacle: str = ""


@dataclass(frozen=True)
class PushObserved:
    """The observed state of the Job, and of what it reads.

    `has_claim`: the team's PVC still exists. `restored`: the objects of a snapshot's push.
    """

    seen: SurveyObserved
    has_claim: bool = True
    restored: Restored | None = None

    @property
    def obstacle(self) -> str:
        """What keeps a pod from starting; the reason of a missing volume comes first."""
        return (self.restored.obstacle if self.restored is not None else "") or self.seen.obstacle


@dataclass(frozen=True)
class Make:
    """Create one of the objects through which a snapshot is read."""

    part: RestoredPart


@dataclass(frozen=True)
class Recreate:
    """The Job completed, but its result was lost: run it again, which finds all files pushed.

    This is recorded before the Job is deleted, so that its deletion does not look external.
    """


@dataclass(frozen=True)
class Pushed:
    """Every file is in the store and verified."""

    said: Said


@dataclass(frozen=True)
class Remove:
    """Delete one of the objects through which a snapshot was read."""

    part: RestoredPart
    uid: str


@dataclass(frozen=True)
class Close:
    """Close the share: nothing reads the PVC any more."""


@dataclass(frozen=True)
class AwaitDeletion:
    """Wait for the deletion of what it read; `why` says why it takes long."""

    why: str = ""


Decision = (
    Wait | Make | Create | UpdateStatus[PushPhase] | Recreate | Pushed | Fail | Delete | Remove
    | Close | AwaitDeletion | Done
)  # fmt: skip


def decide(push: Push, share: CacheShare | None, look: PushObserved, now: datetime) -> Decision:
    """The next step for a push, given its rows and the observed cluster."""
    if push.phase in PUSH_ENDS:
        return _after_the_end(push, share, look)
    if push.stopped_by is not None:
        return Fail(f"<@{push.stopped_by}> stopped it.", GOES_ON)
    if look.seen.is_taken:
        return Fail(
            f"Job {push.job_name} in namespace {push.namespace} already exists and does not belong"
            " to Quartermaster, so it was not changed.",
            "Push again; the Job gets another name.",
        )
    job = look.seen.job
    if job is not None and has_condition(job.status.conditions, "Complete"):
        return _completed(push, job, look.seen.said)
    if not look.has_claim:
        where = f"namespace {push.claim_namespace}"
        return Fail(f"PVC {push.claim_name} is no longer in {where}.", "Push from another PVC.")
    if job is None:
        return _before_the_job(push, share, look, now)
    return _at_work(push, job, look, now)


def _at_work(push: Push, job: Job, look: PushObserved, now: datetime) -> Decision:
    if has_condition(job.status.conditions, "Failed"):
        return _failed(push, job, look.seen)
    if look.seen.is_running or push.started_at is not None:
        return UpdateStatus(PushPhase.COPYING, look.seen.obstacle)
    if now - (job.metadata.creation_timestamp or push.asked_at) > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        return Fail(f"Its pod did not start within {within}. {look.obstacle}".strip(), ADMIN)
    return UpdateStatus(PushPhase.STARTING, look.obstacle)


def is_late(push: Push, now: datetime) -> bool:
    """Whether its pod should have started by now."""
    return push.is_live and push.started_at is None and now - push.asked_at > LATE_AFTER


def _before_the_job(
    push: Push, share: CacheShare | None, look: PushObserved, now: datetime
) -> Decision:
    if push.job_uid is not None:
        return Fail("Its Job was deleted outside Quartermaster.", GOES_ON)
    if push.is_upload:
        return Create()
    if look.restored is not None:
        return _prepare(push, look.restored, now) or Create()
    return _by_share(push, share, now) if share is not None else Fail(_FORGOTTEN, ADMIN)


def _by_share(push: Push, share: CacheShare, now: datetime) -> Decision:
    if share.reason:
        return Fail(
            f"Namespace {push.namespace} cannot mount PVC {push.claim_name}. {share.reason}",
            "Ask a platform admin, or copy the folder to a PVC of another storage class.",
        )
    if not share.is_live or not share.is_wanted:
        return Fail(f"Namespace {push.namespace} no longer has PVC {push.claim_name}.", GOES_ON)
    if share.phase == SharePhase.READY:
        return Create()
    if now - push.asked_at > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        said = f"PVC {push.claim_name} was not available in {push.namespace} within {within}."
        return Fail(f"{said} {share.trouble}".strip(), ADMIN)
    return UpdateStatus(PushPhase.ASKED, share.trouble)


def _completed(push: Push, job: Job, said: Said | None) -> Decision:
    if said is not None and said.event == "done":
        return Pushed(said)
    return Recreate() if push.job_uid is not None else Delete(job.uid)


def _failed(push: Push, job: Job, seen: SurveyObserved) -> Decision:
    """The failure, in the worker's own words if it reported any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return Fail(said.message, said.hint, said.keys)
    if took_too_long(job):
        lasted = format_duration(longest_time(push.capacity_bytes))
        return Fail(f"It did not finish within {lasted}. {seen.obstacle}".strip(), GOES_ON)
    return Fail(silent_end(job), ADMIN)


def _after_the_end(push: Push, share: CacheShare | None, look: PushObserved) -> Decision:
    """Deletes the Job first, so that no pod still uses what it read."""
    if push.is_cleared:
        return Wait()
    if look.seen.job is not None and not look.seen.is_taken:
        return Delete(look.seen.job.uid)
    if look.restored is not None:
        return _clear(look.restored)
    if share is None or not share.is_live:
        return Done()
    return Close() if share.is_wanted else AwaitDeletion(share.trouble)


_FORGOTTEN = "How its PVC was to be read is no longer known."


def _prepare(push: Push, seen: Restored, now: datetime) -> Decision | None:
    """The next step before the Job can be created; None once it can.

    The Job does not wait for the PVC's volume, as some classes provision it for the first pod.
    """
    if seen.taken:
        return Fail(f"{seen.taken} already exists and does not belong to Quartermaster, so it was"
                    " not changed.", "Push again; the push gets another name.")  # fmt: skip
    if seen.claim is not None:
        is_going = seen.claim.metadata.deletion_timestamp is not None
        return (
            Fail("The PVC that was created from it is being deleted.", GOES_ON)
            if is_going
            else None
        )
    reason = _unreadable(push, seen)
    if reason:
        return Fail(reason, "Push another snapshot, or the PVC itself.")
    if now - push.asked_at > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        what = f"VolumeSnapshot {push.snapshot}"
        said = f"{what} was not readable in {push.namespace} within {within}. {seen.obstacle}"
        return Fail(said.strip(), ADMIN)
    return _next_part(seen)


def _next_part(seen: Restored) -> Decision:
    is_ready = seen.source is not None and seen.source.status.ready_to_use
    if not is_ready or seen.origin is None or not seen.origin.handle:
        return UpdateStatus(PushPhase.ASKED, seen.obstacle)
    if seen.content is None:
        return Make(RestoredPart.CONTENT)
    if seen.snapshot is None:
        return Make(RestoredPart.SNAPSHOT)
    if not seen.snapshot.status.ready_to_use:
        return UpdateStatus(PushPhase.ASKED, seen.obstacle)
    return Make(RestoredPart.CLAIM)


def _unreadable(push: Push, seen: Restored) -> str:
    """Why the snapshot can never be read; empty if it can."""
    name = f"VolumeSnapshot {push.snapshot}"
    if seen.source is None or seen.source.uid != push.snapshot_uid:
        return f"{name} is no longer in namespace {push.claim_namespace}."
    origin = seen.origin
    if origin is None:
        return ""
    of = origin.spec.volume_snapshot_ref
    if (of.namespace, of.name, of.uid) != (push.claim_namespace, push.snapshot, push.snapshot_uid):
        return f"{name} names VolumeSnapshotContent {origin.name}, which is of another snapshot."
    if origin.spec.source_volume_mode == "Block":
        return f"{name} is of a block device, which has no files."
    return ""


def _clear(seen: Restored) -> Decision:
    """Deletes the PVC first, as it depends on the others; the driver's snapshot stays."""
    there = {
        RestoredPart.CLAIM: seen.claim,
        RestoredPart.SNAPSHOT: seen.snapshot,
        RestoredPart.CONTENT: seen.content,
    }
    for part, found in there.items():
        if found is not None:
            is_going = found.metadata.deletion_timestamp is not None
            return AwaitDeletion() if is_going else Remove(part, found.uid)
    if seen.volume is None:
        return Done()
    if seen.volume.spec.persistent_volume_reclaim_policy == _RETAIN:
        return Done(seen.volume.name)
    return AwaitDeletion()
