"""What of snapshots a team has now, so that it cannot be removed."""

from collections.abc import Iterator
from typing import Any

from sqlmodel import Session, col, func, select

from bot.snapshots.copies.tables import Copy
from bot.snapshots.deletions.tables import Deletion
from bot.snapshots.resizes.tables import Resize
from bot.snapshots.tables import Restore, Revert, Snapshot, SnapshotSchedule

_TABLES: tuple[tuple[str, Any, Any], ...] = (
    ("snapshot", Snapshot.team, Snapshot.ended_at),
    ("restore", Restore.team, Restore.ended_at),
    ("revert", Revert.team, Revert.ended_at),
    ("snapshot schedule", SnapshotSchedule.team, SnapshotSchedule.ended_at),
    ("PVC resize", Resize.team, Resize.ended_at),
    ("PVC copy", Copy.team, Copy.ended_at),
    ("PVC deletion", Deletion.team, Deletion.ended_at),
)


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """The team's live snapshots and what is done with its PVCs, each with their number."""
    for what, owner, ended_at in _TABLES:
        live = select(func.count()).where(col(owner) == team, col(ended_at).is_(None))
        yield what, session.exec(live).one()
