"""Records the outcome of a step of a revert in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot import holds
from bot.approvals import Approvals
from bot.audit import Actor
from bot.audit import record as audit
from bot.masking import hide_secrets
from bot.reconcile.decisions import Create, Done, UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.messages import refresh_cards
from bot.snapshots.restores.service import begin_clone, cancel_clone
from bot.snapshots.reverts import notices as notes
from bot.snapshots.reverts.decide import (
    Approved,
    Begin,
    Decision,
    End,
    Retry,
    RevertObserved,
    is_late,
)
from bot.snapshots.tables import REVERT, SNAPSHOT, Revert, RevertPhase

RevertFindings = Findings[Decision, RevertObserved]


class Recorder:
    """Records steps of reverts; approvals are used or voided in the same transaction."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def record(self, session: Session, row_id: str, phase: str, found: RevertFindings) -> None:
        """Updates the row, and refreshes the card if what it shows has changed.

        Does nothing if the row has changed its phase since it was read.
        """
        row = session.get(Revert, row_id)
        if row is None or row.phase != phase:
            return
        before = _shown(row)
        seen = found.observed.action
        if seen is not None and not found.observed.is_taken and seen.uid != row.refused_uid:
            row.uid = seen.uid
        row.trouble = ""
        self._apply(session, row, found)
        was_late, row.is_late = row.is_late, is_late(row, found.now)
        if row.is_late and not was_late:
            notes.late(session, row, found.now)
        session.add(row)
        if _shown(row) != before:
            refresh_cards(session, row.subject, live=row.phase == RevertPhase.REVERTING)

    def _apply(self, session: Session, row: Revert, found: RevertFindings) -> None:
        match found.decision:
            case Approved():
                self._begin(session, row, found.now)
            case Begin():
                _enter(row, RevertPhase.REVERTING, found.now)
            case UpdateStatus(_, obstacle):
                row.obstacle = hide_secrets(obstacle)
            case Retry(uid, obstacle):
                row.uid, row.refused_uid, row.obstacle = None, uid, hide_secrets(obstacle)
            case End() as end:
                self._end(session, row, end, found.now)
            case Done():
                row.is_cleared = True
                holds.let_go(session, (SNAPSHOT, row.snapshot_id), (REVERT, row.id))
            case Create() if row.refused_uid is None:
                row.obstacle = ""
            case _:
                pass

    def _begin(self, session: Session, row: Revert, now: datetime) -> None:
        approval = self._approvals.of(session, REVERT, row.id)
        if approval is None or row.cancelled_by is not None:
            return
        if not self._approvals.use(session, approval, row.digest, now):
            refresh_cards(session, row.subject, live=False)
            return
        if row.saves:
            clone = begin_clone(session, row, now)
            row.clone_id, row.clone = clone.id, clone.claim_name
            _enter(row, RevertPhase.SAVING, now)
        else:
            _enter(row, RevertPhase.REVERTING, now)

    def _end(self, session: Session, row: Revert, end: End, now: datetime) -> None:
        row.reason, row.unblock = hide_secrets(end.reason), end.unblock
        _enter(row, end.phase, now)
        row.ended_at = now
        approval = self._approvals.of(session, REVERT, row.id)
        if approval is not None and end.phase in {RevertPhase.FAILED, RevertPhase.CANCELLED}:
            why = "it was cancelled" if end.phase == RevertPhase.CANCELLED else "it has failed"
            self._approvals.void(session, approval, why, now)
        if end.phase == RevertPhase.CANCELLED:
            cancel_clone(session, row, now)
        notes.ended(session, row, now)
        facts = {"pvc": row.claim_name, "snapshot": row.snapshot, "end": str(end.phase)}
        actor = Actor(row.workspace_id, None, None, row.team)
        audit(session, actor, "snapshot.revert_end", (REVERT, row.id), facts, at=now)


def _enter(row: Revert, phase: RevertPhase, now: datetime) -> None:
    row.phase, row.since, row.obstacle = phase, now, ""


def _shown(row: Revert) -> tuple[object, ...]:
    """What the card shows."""
    return row.phase, row.since, row.obstacle, row.trouble, row.is_late, row.reason, row.clone
