"""Records the outcome of a slot of a schedule: a snapshot, or why there is none."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor
from bot.audit import record as audit
from bot.database.columns import new_id
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards
from bot.snapshots.objects import scheduled_name
from bot.snapshots.schedules import notices as notes
from bot.snapshots.schedules.decide import (
    Decision,
    Defer,
    Missing,
    ScheduleObserved,
    Skip,
    Stop,
    Take,
)
from bot.snapshots.tables import SCHEDULE, SNAPSHOT, Snapshot, SnapshotSchedule


@dataclass(frozen=True)
class ScheduleFindings:
    """One step: what was observed and decided for the slot `due`; `following` is the next slot."""

    decision: Decision
    look: ScheduleObserved
    due: datetime
    following: datetime
    now: datetime


def record(session: Session, row_id: str, found: ScheduleFindings) -> None:
    """Updates the row and its card; does nothing if the row was changed in the meantime."""
    row = session.get(SnapshotSchedule, row_id)
    if row is None or not row.is_live or row.next_at != found.due:
        return
    if isinstance(found.decision, Defer):
        if row.obstacle == found.decision.why:
            return
        row.obstacle = found.decision.why
    else:
        row.next_at = found.following
        _apply(session, row, found)
        row.trouble = row.obstacle = ""
    row.others = list(found.look.others)
    session.add(row)
    refresh_cards(session, row.subject, live=False)


def _apply(session: Session, row: SnapshotSchedule, found: ScheduleFindings) -> None:
    if found.look.has_claim:
        row.missing_since = None
    match found.decision:
        case Take(slot, _, late):
            _begin(session, row, found.decision, found.now)
            row.said = late
            if late:
                notes.late(session, row, slot, late, found.now)
        case Skip(slot, reason, unblock):
            notes.failed(session, row, slot, reason, unblock, found.now)
        case Missing(slot):
            row.missing_since, row.said = found.now, "Its PVC no longer exists."
            notes.missing(session, row, slot, found.now)
        case Stop():
            row.ended_at, row.said = found.now, "It has stopped: its PVC no longer exists."
            notes.stopped(session, row, found.now)
            facts = {"pvc": row.claim_name, "why": row.said}
            about = (SCHEDULE, row.id)
            audit(session, _actor(row), "snapshot.unschedule", about, facts, at=found.now)
        case Defer():
            pass


def _begin(session: Session, row: SnapshotSchedule, take: Take, now: datetime) -> None:
    """Begins the snapshot of a slot, which has no card of its own."""
    row_id, plan = new_id(), take.plan
    snapshot = Snapshot(
        id=row_id,
        workspace_id=row.workspace_id,
        team=row.team,
        person=row.person,
        channel=row.channel,
        cluster=row.cluster,
        namespace=row.namespace,
        claim_name=row.claim_name,
        claim_uid=plan.claim_uid,
        storage_class=plan.storage_class,
        driver=plan.driver,
        capacity_bytes=plan.capacity_bytes,
        name=scheduled_name(row.claim_name, take.slot, row_id),
        note="on schedule",
        schedule_id=row.id,
        slot=take.slot,
        asked_at=now,
        since=now,
        keep_until=None if row.keep is None else now + row.keep,
    )
    session.add(snapshot)
    row.last_id = row_id
    wake(session, SNAPSHOT, row_id, cluster_lane(row.cluster), now)
    facts = {"pvc": row.claim_name, "name": snapshot.name, "slot": take.slot.isoformat()}
    audit(session, _actor(row), "snapshot.create", (SNAPSHOT, row_id), facts, at=now)


def _actor(row: SnapshotSchedule) -> Actor:
    return Actor(row.workspace_id, None, None, row.team)
