"""Records the outcome of a step of a restore in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot.masking import hide_secrets
from bot.reconcile.decisions import Create, Done, Fail, UpdateStatus
from bot.reconcile.due import wake
from bot.reconcile.frame import Findings
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.snapshots import notices
from bot.snapshots.keepers import release
from bot.snapshots.restores.decide import Cancelled, Decision, Keep, Ready, RestoreObserved, is_late
from bot.snapshots.tables import RUN, Restore, RestorePhase, Snapshot

RestoreFindings = Findings[Decision, RestoreObserved]


def record(
    session: Session, row_id: str, found: RestoreFindings, format_command: FormatCommand
) -> None:
    """Updates the row, and refreshes the card if what it shows has changed."""
    row = session.get(Restore, row_id)
    if row is None:
        return
    before = _shown(row)
    seen = found.observed.claim
    if seen is not None and not found.observed.is_taken:
        row.uid = seen.uid
    row.trouble = ""
    _apply(session, row, found, format_command)
    row.is_late = is_late(row, found.now)
    session.add(row)
    if _shown(row) != before:
        refresh_cards(session, row.subject, live=row.is_live)
        if row.run_id is not None:
            wake(session, RUN, row.run_id, cluster_lane(row.cluster), found.now)


def _apply(
    session: Session, row: Restore, found: RestoreFindings, format_command: FormatCommand
) -> None:
    match found.decision:
        case Create():
            _enter(row, RestorePhase.MAKING, found.now)
        case UpdateStatus(phase, obstacle):
            _enter(row, phase, found.now)
            row.obstacle = hide_secrets(obstacle)
        case Ready():
            _end(row, RestorePhase.READY, found.now)
            notices.restored(session, row, format_command, found.now)
        case Fail(reason, unblock):
            row.reason, row.unblock = hide_secrets(reason), unblock
            _end(row, RestorePhase.FAILED, found.now)
            notices.restored(session, row, format_command, found.now)
        case Cancelled():
            row.reason = f"<@{row.cancelled_by}> cancelled it."
            _end(row, RestorePhase.CANCELLED, found.now)
            notices.cancelled(session, row, found.now)
        case Keep(why):
            row.cancelled_by, row.obstacle = None, why
        case Done():
            row.is_cleared = True
            _let_go(session, row)
        case _:
            pass


def _let_go(session: Session, row: Restore) -> None:
    release(session, row)
    source = session.get(Snapshot, row.snapshot_id) if row.snapshot_id is not None else None
    if source is not None:
        refresh_cards(session, source.subject, live=False)


def _enter(row: Restore, phase: RestorePhase, now: datetime) -> None:
    if row.phase != phase:
        row.phase, row.since = phase, now


def _end(row: Restore, phase: RestorePhase, now: datetime) -> None:
    row.phase, row.since, row.ended_at, row.obstacle = phase, now, now, ""


def _shown(row: Restore) -> tuple[object, ...]:
    """What the card shows of a PVC."""
    return row.phase, row.since, row.obstacle, row.trouble, row.is_late, row.ended_at, row.reason
