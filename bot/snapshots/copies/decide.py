"""Decides the next step for a copy. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from bot.approvals import ApprovalPhase
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.objects import ClusterObject, Job, has_condition
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.config.sections.snapshots import Snapshots
from bot.datasets.job import silent_end, took_too_long
from bot.datasets.saying import Said
from bot.datasets.versions.decide import SurveyObserved
from bot.durations import format_duration
from bot.reconcile.decisions import Delete, Done, UpdateStatus, Wait
from bot.snapshots.copies.job import longest_seconds
from bot.snapshots.copies.plan import ONE_POD
from bot.snapshots.copies.tables import Copy, CopyPhase, CopySource

STARTS_WITHIN = timedelta(hours=1)
_GOING = timedelta(seconds=10)
GOES_ON = "Copy it again with the same words: what was copied stays, and it goes on from there."
ADMIN = "A platform admin has to look at it. Then copy it again: it goes on from there."
_NOTHING = "Nothing was changed."
_SECURITY = "violates PodSecurity"
ObjectT = TypeVar("ObjectT", bound=ClusterObject)


class Part(StrEnum):
    """An object that is created before the Job."""

    TARGET = "PVC"
    SNAPSHOT = "VolumeSnapshot"
    RESTORED = "PVC from the snapshot"


@dataclass(frozen=True)
class CopyObserved:
    """What the rows and the cluster show of a copy.

    `claim` is the source, None if it is gone or another one of the same name. `pods` are those of
    others that mount it, with their nodes. `taken` names an object of ours that is not ours.
    """

    approval: ApprovalPhase = ApprovalPhase.USED
    note: str = ""
    claim: PersistentVolumeClaim | None = None
    pods: Mapping[str, str] = field(default_factory=dict)
    target: PersistentVolumeClaim | None = None
    snapshot: VolumeSnapshot | None = None
    restored: PersistentVolumeClaim | None = None
    taken: str = ""
    obstacle: str = ""
    seen: SurveyObserved = field(default_factory=SurveyObserved)


@dataclass(frozen=True)
class CopyApproved:
    """The copy was approved: use the approval and begin."""


@dataclass(frozen=True)
class Make:
    """Create an object that the Job needs."""

    part: Part


@dataclass(frozen=True)
class Start:
    """Create the Job; on that node, if the source is mounted there."""

    node: str = ""


@dataclass(frozen=True)
class Remove:
    """Delete an object that only the Job needed."""

    part: Part
    uid: str


@dataclass(frozen=True)
class Recreate:
    """The Job completed, but its result was lost: run it again, which finds all files copied."""


@dataclass(frozen=True)
class Copied:
    """Every file is in the new PVC, and was read back."""

    said: Said


@dataclass(frozen=True)
class EndCopy:
    """The copy has ended without all files; sentences give the reason and what to do."""

    phase: CopyPhase
    reason: str = ""
    unblock: str = ""


Decision = (
    Wait | UpdateStatus[CopyPhase] | CopyApproved | Make | Start | Delete | Remove | Recreate
    | Copied | EndCopy | Done
)  # fmt: skip


def decide(row: Copy, look: CopyObserved, now: datetime, snapshots: Snapshots) -> Decision:
    """The next step for a copy."""
    if not row.is_live:
        return _after_the_end(look, now)
    if row.phase == CopyPhase.ASKED:
        return _asked(row, look)
    if row.stopped_by is not None:
        return _failed(f"<@{row.stopped_by}> stopped it.", GOES_ON)
    if look.taken:
        said = (
            f"{look.taken} already exists and does not belong to this copy, so it stays as it is."
        )
        return _failed(said, "Copy to another name: --as NAME.")
    job = look.seen.job
    if job is not None and has_condition(job.status.conditions, "Complete"):
        return _completed(row, job, look.seen.said)
    if look.claim is None:
        return _failed(f"PVC {row.claim_name} no longer exists.", "")
    if job is None:
        return _before_the_job(row, look, now, snapshots.ready_within)
    is_restored = row.reads == CopySource.SNAPSHOT
    within = snapshots.restored_within if is_restored else STARTS_WITHIN
    return _at_work(row, job, look, now, within)


def _asked(row: Copy, look: CopyObserved) -> Decision:
    match look.approval:
        case ApprovalPhase.DENIED:
            return EndCopy(CopyPhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndCopy(CopyPhase.EXPIRED)
        case ApprovalPhase.VOIDED:
            return _failed(look.note, "Request it again.")
        case ApprovalPhase.APPROVED | ApprovalPhase.USED:
            if look.claim is None:
                return _failed(f"PVC {row.claim_name} no longer exists. {_NOTHING}", "")
            return CopyApproved()
        case _:
            return Wait()


def _before_the_job(
    row: Copy, look: CopyObserved, now: datetime, ready_within: timedelta
) -> Decision:
    if row.job_uid is not None:
        return _failed("Its Job was deleted outside Quartermaster.", GOES_ON)
    if look.target is None:
        if row.target_uid is None:
            return Make(Part.TARGET)
        return _failed(f"PVC {row.target} was deleted outside Quartermaster.", "Copy it again.")
    if look.target.metadata.deletion_timestamp is not None:
        return _failed(f"PVC {row.target} is being deleted.", "Copy it again once it is gone.")
    if row.reads == CopySource.SNAPSHOT:
        return _restoring(look, now, ready_within)
    waits = _idle(look) if row.reads == CopySource.IDLE else _live(row, look)
    is_late = now - (row.began_at or row.asked_at) > STARTS_WITHIN
    if isinstance(waits, UpdateStatus) and is_late:
        within = format_duration(STARTS_WITHIN)
        said = f"The copy could not start within {within}. {waits.obstacle}".strip()
        return _failed(said, "Copy it again when that is over, or with --snapshot.")
    return waits or Start(_node(row, look))


def _idle(look: CopyObserved) -> Decision | None:
    """A PVC that pods mount is not copied, so that all files are of one moment."""
    if not look.pods:
        return None
    named = ", ".join(sorted(look.pods))
    said = f"It waits until nothing mounts the PVC. These pods do: {named}."
    return UpdateStatus(CopyPhase.PREPARING, said)


def _live(row: Copy, look: CopyObserved) -> Decision | None:
    """The Job has to run where the PVC is mounted; a pod may not have a node yet."""
    if not look.pods:
        return None
    if row.access_mode == ONE_POD:
        return _failed(f"Only one pod can mount PVC {row.claim_name}, and one does.", _FREEZE)
    if "" in look.pods.values() and not _node(row, look):
        said = "It waits for the node of the pods that mount the PVC."
        return UpdateStatus(CopyPhase.PREPARING, said)
    return None


def _node(row: Copy, look: CopyObserved) -> str:
    """The node where the PVC is mounted, if only pods of that node can mount it."""
    if row.reads != CopySource.LIVE or row.access_mode != "ReadWriteOnce":
        return ""
    return next((node for _, node in sorted(look.pods.items()) if node), "")


def _restoring(look: CopyObserved, now: datetime, ready_within: timedelta) -> Decision:
    if look.restored is not None:
        return Start()
    if look.snapshot is None:
        return Make(Part.SNAPSHOT)
    if look.snapshot.status.ready_to_use:
        return Make(Part.RESTORED)
    if now - (look.snapshot.metadata.creation_timestamp or now) > ready_within:
        lasted = format_duration(ready_within)
        return _failed(
            f"Its snapshot was not ready within {lasted}. {look.obstacle}".strip(), _SLOW
        )
    return UpdateStatus(CopyPhase.PREPARING, look.obstacle)


def _at_work(row: Copy, job: Job, look: CopyObserved, now: datetime, within: timedelta) -> Decision:
    if has_condition(job.status.conditions, "Failed"):
        return _job_failed(row, job, look.seen)
    if look.seen.is_running or row.started_at is not None:
        return UpdateStatus(CopyPhase.COPYING, look.obstacle)
    if _SECURITY in look.obstacle:
        return _failed(look.obstacle, _ROOT)
    if now - (job.metadata.creation_timestamp or row.asked_at) > within:
        lasted = format_duration(within)
        return _failed(f"Its pod did not start within {lasted}. {look.obstacle}".strip(), ADMIN)
    return UpdateStatus(CopyPhase.STARTING, look.obstacle)


def _completed(row: Copy, job: Job, said: Said | None) -> Decision:
    if said is not None and said.event == "done":
        return Copied(said)
    # Recorded before the Job is deleted, so that its deletion does not look external.
    return Recreate() if row.job_uid is not None else Delete(job.uid)


def _job_failed(row: Copy, job: Job, seen: SurveyObserved) -> Decision:
    """The failure, in the worker's own words if it reported any."""
    said = seen.said
    if said is not None and said.event == "failed":
        return _failed(said.message, said.hint)
    if took_too_long(job):
        lasted = format_duration(timedelta(seconds=longest_seconds(row)))
        return _failed(f"It did not finish within {lasted}. {seen.obstacle}".strip(), GOES_ON)
    return _failed(silent_end(job), ADMIN)


def _after_the_end(look: CopyObserved, now: datetime) -> Decision:
    """Deletes the Job first, so that no pod still uses what it read."""
    job = look.seen.job
    if job is not None and not look.seen.is_taken:
        return Delete(job.uid)
    for part, found in ((Part.RESTORED, look.restored), (Part.SNAPSHOT, look.snapshot)):
        if found is not None:
            is_going = found.metadata.deletion_timestamp is not None
            return Wait(now + _GOING) if is_going else Remove(part, found.uid)
    return Done()


def _failed(reason: str, unblock: str) -> EndCopy:
    return EndCopy(CopyPhase.FAILED, reason, unblock)


_FREEZE = "Copy a snapshot of it: --snapshot. Or copy it when no pod mounts it."
_SLOW = "If snapshots take longer here, a platform admin can set snapshots.ready_within."
_ROOT = (
    "The copy keeps owners, so its pod runs as root, which this namespace forbids. A platform admin"
    " can set its label pod-security.kubernetes.io/enforce to baseline."
)
