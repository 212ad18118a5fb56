"""Records the outcome of a step of a snapshot in its row, and posts replies."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot import holds
from bot.masking import hide_secrets
from bot.reconcile.decisions import Delete, Done, Fail, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import FormatCommand
from bot.slack.messages import Subject, refresh_cards
from bot.snapshots import notices
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.planning import note_plan
from bot.snapshots.schedules.service import on_snapshot_change
from bot.snapshots.snapshots.decide import (
    AwaitDeletion,
    Decision,
    Gone,
    Ready,
    SnapshotObserved,
    Stay,
    TakeSnapshot,
    is_late,
)
from bot.snapshots.tables import RUN, SNAPSHOT, Snapshot, SnapshotIntent, SnapshotPhase

# An expired snapshot that was still needed is tried again after this time.
_DAY = timedelta(days=1)


SnapshotFindings = Findings[Decision, SnapshotObserved]


def record(
    session: Session, row_id: str, found: SnapshotFindings, format_command: FormatCommand
) -> None:
    """Updates the row, and refreshes the card if what it shows has changed."""
    row = session.get(Snapshot, row_id)
    if row is None:
        return
    before = _shown(row)
    seen = found.observed.snapshot
    if seen is not None and not found.observed.is_taken:
        row.uid = seen.uid
        # A step that died, or whose response was lost, has not recorded it.
        row.snapshot_class = seen.spec.volume_snapshot_class_name
    if isinstance(found.observed.plan, SnapshotPlan):
        note_plan(row, found.observed.plan)
    row.trouble = ""
    if isinstance(found.decision, Stay) and row.deleted_by is not None:
        notices.stayed(session, row, found.decision.why, found.now)
    _apply(row, found)
    _tell(session, row, found, format_command)
    row.is_late = is_late(row, found.now)
    session.add(row)
    if _shown(row) != before:
        refresh_cards(session, row.subject, live=_is_moving(row))
        if row.run_id is not None:
            refresh_cards(session, Subject(row.workspace_id, RUN, row.run_id), live=False)


def _apply(row: Snapshot, found: SnapshotFindings) -> None:
    now = found.now
    match found.decision:
        case TakeSnapshot(plan):
            row.snapshot_class = plan.kind.name
            row.deletion_policy = plan.kind.deletion_policy
            _enter(row, SnapshotPhase.TAKING, now)
        case UpdateStatus(phase, obstacle):
            _enter(row, phase, now, hide_secrets(obstacle))
        case Ready(taken_at, size_bytes):
            row.taken_at, row.size_bytes = taken_at, size_bytes
            if found.observed.content is not None:
                row.deletion_policy = found.observed.content.spec.deletion_policy
            _enter(row, SnapshotPhase.READY, now)
        case Fail(reason, unblock):
            row.reason, row.unblock = hide_secrets(reason), unblock
            _end(row, SnapshotPhase.FAILED, now)
        case _:
            _apply_leaving(row, found)


def _apply_leaving(row: Snapshot, found: SnapshotFindings) -> None:
    now = found.now
    match found.decision:
        case Delete() if row.is_live:
            _enter(row, SnapshotPhase.DELETING, now)
        case AwaitDeletion(why):
            row.obstacle = why
        case Stay(why):
            if row.deleted_by is None and row.keep_until is not None:
                row.keep_until = now + _DAY
            row.wanted, row.deleted_by = SnapshotIntent.KEPT, None
            phase = SnapshotPhase.READY if row.taken_at is not None else SnapshotPhase.TAKING
            _enter(row, phase, now, f"It was not deleted. {why}")
        case Gone(why):
            row.reason = why
            _end(row, SnapshotPhase.DELETED, now)
        case Done():
            row.is_cleared, row.obstacle = True, ""
        case _:
            pass


def _tell(
    session: Session, row: Snapshot, found: SnapshotFindings, format_command: FormatCommand
) -> None:
    match found.decision:
        case Ready() | Fail() if row.schedule_id is not None:
            on_snapshot_change(session, row, found.now)
        case Ready() | Fail():
            notices.ended(session, row, format_command, found.now)
        case Gone(why):
            # Pins and other holds are obsolete.
            for hold in holds.on(session, SNAPSHOT, row.id, found.now):
                holds.let_go(session, (SNAPSHOT, row.id), (hold.subject_kind, hold.subject_id))
            if why:
                notices.vanished(session, row, found.now)
            if row.schedule_id is not None:
                on_snapshot_change(session, row, found.now)
        case _:
            pass


def _enter(row: Snapshot, phase: SnapshotPhase, now: datetime, obstacle: str = "") -> None:
    row.obstacle = obstacle
    if row.phase != phase:
        row.phase, row.since = phase, now


def _end(row: Snapshot, phase: SnapshotPhase, now: datetime) -> None:
    row.phase, row.since, row.ended_at, row.obstacle = phase, now, now, ""


def _is_moving(row: Snapshot) -> bool:
    return row.phase in {SnapshotPhase.ASKED, SnapshotPhase.TAKING, SnapshotPhase.DELETING}


def _shown(row: Snapshot) -> tuple[object, ...]:
    """What the card shows of a snapshot."""
    return (
        row.phase, row.since, row.obstacle, row.trouble, row.is_late, row.ended_at, row.wanted,
        row.taken_at, row.size_bytes, row.reason, row.keep_until,
    )  # fmt: skip
