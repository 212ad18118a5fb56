"""Deletes expired snapshots."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor
from bot.snapshots import finding
from bot.snapshots.schedules.thinning import thin_out
from bot.snapshots.snapshots.service import mark_deleted
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotIntent, SnapshotPhase


def expire(session: Session, now: datetime) -> None:
    """Marks expired snapshots for deletion, except the newest of a PVC and those that are held."""
    thin_out(session, now)
    due = session.exec(
        select(Snapshot)
        .where(
            col(Snapshot.keep_until) <= now,
            col(Snapshot.ended_at).is_(None),
            col(Snapshot.phase) == SnapshotPhase.READY,
            col(Snapshot.wanted) == SnapshotIntent.KEPT,
        )
        .order_by(col(Snapshot.id))
    ).all()
    for row in due:
        newest = finding.newest_ready(session, row)
        is_last = newest is None or newest.id == row.id
        if not is_last and not holds.on(session, SNAPSHOT, row.id, now):
            actor = Actor(row.workspace_id, None, None, row.team)
            mark_deleted(session, row, actor, now)
