"""Writes rows for the VolumeSnapshots of ours that live in a cluster."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.adoption import LEAVING, Adoptable, Known, Refused, Verdict, channel_of, unfit
from bot.audit import Actor, record
from bot.cluster import labels
from bot.cluster.ownership import foreign_claim
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot, VolumeSnapshotContent
from bot.config import Settings
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.snapshots import finding
from bot.snapshots.adoption.record import SnapshotRecord, record_of
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotPhase

# Whatever PVC has the name by now is another one than the snapshot is of.
_GONE = "-"


@dataclass(frozen=True)
class FoundSnapshot:
    """A VolumeSnapshot that says to be ours, with its content and the PVC of that name."""

    cluster: str
    object: VolumeSnapshot
    content: VolumeSnapshotContent | None
    claim: PersistentVolumeClaim | None

    @property
    def named(self) -> str:
        """The object, for people: `VolumeSnapshot team-a/results-124a67dc90 on default`."""
        return f"VolumeSnapshot {self.object.namespace}/{self.object.name} on {self.cluster}"

    @property
    def record(self) -> SnapshotRecord | None:
        """What it says of its row; an earlier release recorded nothing."""
        return record_of(self.object)


def examine(session: Session, settings: Settings, found: FoundSnapshot) -> Verdict:
    """Whether a row can be written for a VolumeSnapshot; nothing is written."""
    known = session.get(Snapshot, found.object.labels[labels.SNAPSHOT])
    if known is not None:
        return Known() if _is_object_of(known, found) else Refused(_other(known))
    why = _unfit(session, settings, found)
    if why:
        return Refused(why)
    team = found.object.labels[labels.TEAM]
    title = f"{found.object.claim_name} of {team}: {found.named}"
    return Adoptable(title, lambda session, now: _adopt(session, _row(settings, found, now), now))


def _is_object_of(row: Snapshot, found: FoundSnapshot) -> bool:
    """Whether it is the object that a row has; others may be copies with its labels."""
    at = found.object
    here = (found.cluster, at.namespace, at.name)
    return (row.cluster, row.namespace, row.name) == here


def _other(row: Snapshot) -> str:
    return (
        f"The snapshot of that id is {row.namespace}/{row.name} on {row.cluster}."
        " Delete this one with kubectl if it is not needed."
    )


def _unfit(session: Session, settings: Settings, found: FoundSnapshot) -> str:
    at = found.object
    if at.metadata.deletion_timestamp is not None:
        return LEAVING
    if not at.claim_name:
        return "It names no PVC that it is of."
    if why := unfit(settings, found.cluster, at, "Snapshots"):
        return why
    foreign = foreign_claim(found.claim, at.labels[labels.TEAM]) if found.claim else None
    if foreign is not None:
        return foreign.reason
    if finding.at(session, found.cluster, at.namespace, at.name) is not None:
        return "This database knows another snapshot of that name."
    return ""


def _adopt(session: Session, row: Snapshot, now: datetime) -> None:
    """Writes the row, which shows no card, and has its controller look at it."""
    session.add(row)
    session.flush()
    facts = {"pvc": row.claim_name, "name": row.name}
    actor = Actor(row.workspace_id, team=row.team)
    record(session, actor, "snapshot.adopt", (SNAPSHOT, row.id), facts, at=now)
    wake(session, SNAPSHOT, row.id, cluster_lane(row.cluster), now)


def _row(settings: Settings, found: FoundSnapshot, now: datetime) -> Snapshot:
    """The row. It stays until a person deletes it: who kept it, and how long, is not known."""
    at, said = found.object, found.record
    team, made_at = at.labels[labels.TEAM], at.metadata.creation_timestamp or now
    status = at.status
    row = Snapshot(
        id=at.labels[labels.SNAPSHOT],
        workspace_id=settings.workspace,
        team=team,
        person=at.labels[labels.PERSON],
        channel=channel_of(settings.teams[team], said.channel if said is not None else ""),
        cluster=found.cluster,
        namespace=at.namespace,
        claim_name=at.claim_name,
        claim_uid=_GONE,
        storage_class="",
        driver=found.content.spec.driver if found.content is not None else "",
        capacity_bytes=0,
        name=at.name,
        asked_at=made_at,
        phase=SnapshotPhase.READY if status.ready_to_use else SnapshotPhase.TAKING,
        since=made_at,
        uid=at.uid,
        snapshot_class=at.spec.volume_snapshot_class_name,
        deletion_policy=found.content.spec.deletion_policy if found.content is not None else "",
        taken_at=(status.creation_time or made_at) if status.ready_to_use else None,
        size_bytes=None if status.restore_size is None else int(status.restore_size),
    )
    if said is not None:
        _note_record(row, said)
    else:
        _note_claim(row, found.claim)
    return row


def _note_record(row: Snapshot, said: SnapshotRecord) -> None:
    row.claim_uid, row.storage_class = said.claim_uid, said.storage_class
    row.driver, row.capacity_bytes = row.driver or said.driver, said.capacity_bytes
    row.note, row.run_id, row.run = said.note, said.run_id, said.run
    row.data, row.asked_at = [list(each) for each in said.data], said.asked_at


def _note_claim(row: Snapshot, claim: PersistentVolumeClaim | None) -> None:
    """The facts of the PVC, if it is that which was there when the snapshot was taken."""
    created = claim.metadata.creation_timestamp if claim is not None else None
    if claim is None or created is None or created > row.since:
        return
    row.claim_uid, row.capacity_bytes = claim.uid, claim.size_bytes or 0
    row.storage_class = claim.spec.storage_class_name or ""
