"""Expires the snapshots of schedules beyond the number that they keep."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.snapshots import finding
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotSchedule


def thin_out(session: Session, now: datetime) -> None:
    """Expires snapshots for which a schedule has enough newer ones.

    Only snapshots that are ready and not held count, so that a pin does not displace others.
    """
    limited = select(SnapshotSchedule).where(
        col(SnapshotSchedule.ended_at).is_(None), col(SnapshotSchedule.most).is_not(None)
    )
    for schedule in session.exec(limited).all():
        for row in _counted(session, schedule, now)[schedule.most :]:
            row.is_surplus = True
            row.keep_until = min(row.keep_until or now, now)
            session.add(row)
    session.flush()


def _counted(session: Session, schedule: SnapshotSchedule, now: datetime) -> list[Snapshot]:
    """The snapshots that count, the newest first."""
    ready = finding.ready_on(session, schedule.id)
    return [
        each
        for each in ready
        if not each.is_surplus and not holds.on(session, SNAPSHOT, each.id, now)
    ]
