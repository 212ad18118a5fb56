"""Which snapshots of a schedule are more than it keeps."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.snapshots import finding
from bot.snapshots.schedule_tables import SnapshotSchedule
from bot.snapshots.tables import SNAPSHOT, Snapshot


def thin_out(session: Session, now: datetime) -> None:
    """Ends the time of those that a schedule has enough newer ones than.

    Only what is ready and held by nobody counts, so that a pin takes nobody's place.
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
    """Those that count, the newest first."""
    ready = finding.ready_on(session, schedule.id)
    return [
        each
        for each in ready
        if not each.is_surplus and not holds.on(session, SNAPSHOT, each.id, now)
    ]
