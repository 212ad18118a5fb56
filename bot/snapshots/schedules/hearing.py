"""Tells a schedule that one of its snapshots has changed."""

from datetime import datetime

from sqlmodel import Session

from bot.reconcile.due import wake
from bot.slack.messages import refresh_cards
from bot.snapshots.schedules import notices as notes
from bot.snapshots.tables import SCHEDULE, Snapshot, SnapshotPhase, SnapshotSchedule, lane


def heard(session: Session, row: Snapshot, now: datetime) -> None:
    """Updates the schedule of a changed snapshot: posts failures, and wakes what waits for it."""
    schedule = session.get(SnapshotSchedule, row.schedule_id)
    if schedule is None:
        return
    if row.phase == SnapshotPhase.READY:
        schedule.failures, schedule.reported_at = 0, None
    if row.phase == SnapshotPhase.FAILED:
        why = (row.reason, row.unblock)
        notes.failed(session, schedule, row.slot or row.asked_at, why, now)
    session.add(schedule)
    refresh_cards(session, schedule.subject, live=False)
    if schedule.is_live:
        wake(session, SCHEDULE, schedule.id, lane(schedule.cluster), now)
