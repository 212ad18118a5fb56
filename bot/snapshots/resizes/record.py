"""Records the outcome of a step of a resize in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot.approvals import Approvals
from bot.audit import Actor
from bot.audit import record as audit
from bot.masking import hide_secrets
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.snapshots.resizes.decide import Approved, Decision, EndResize, ResizeObserved
from bot.snapshots.resizes.tables import RESIZE, Resize, ResizePhase
from bot.volumes.wording import capacity

ResizeFindings = Findings[Decision, ResizeObserved]
MOUNT_IT = (
    "The volume has the new size. Its file system grows when a pod mounts it next: start a run"
    " that mounts the PVC, or restart a pod that does."
)
_UNBEGUN = {
    ResizePhase.DENIED: "was denied",
    ResizePhase.EXPIRED: "was not decided in time",
    ResizePhase.WITHDRAWN: "was withdrawn",
}


class Recorder:
    """Records steps of resizes; approvals are used or voided in the same transaction."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def record(self, session: Session, row_id: str, phase: str, found: ResizeFindings) -> None:
        """Updates the row, and refreshes the card if what it shows has changed.

        Does nothing if the row has changed its phase since it was read.
        """
        row = session.get(Resize, row_id)
        if row is None or row.phase != phase:
            return
        before = _shown(row)
        row.trouble = ""
        match found.decision:
            case Approved():
                self._begin(session, row, found.now)
            case UpdateStatus(to, obstacle):
                _enter(session, row, to, found.now)
                row.obstacle = hide_secrets(obstacle)
            case EndResize(to, reason, unblock):
                self._end(session, row, EndResize(to, hide_secrets(reason), unblock), found.now)
            case _:
                pass
        session.add(row)
        if _shown(row) != before:
            refresh_cards(session, row.subject, live=row.is_live)

    def _begin(self, session: Session, row: Resize, now: datetime) -> None:
        approval = self._approvals.of(session, RESIZE, row.id)
        if approval is None:
            return
        if self._approvals.use(session, approval, row.digest, now):
            row.phase, row.since = ResizePhase.PATCHING, now
        refresh_cards(session, row.subject, live=True)

    def _end(self, session: Session, row: Resize, end: EndResize, now: datetime) -> None:
        if end.phase == ResizePhase.FAILED:
            self._approvals.void_for(session, (RESIZE, row.id), "it has failed", now)
        row.reason, row.unblock = end.reason, end.unblock
        finish(session, row, end.phase, now)


def finish(session: Session, row: Resize, phase: ResizePhase, now: datetime) -> None:
    """Ends a resize in a phase, writes the audit line and notifies the requester."""
    row.phase, row.since, row.ended_at = phase, now, now
    row.trouble = row.obstacle = ""
    session.add(row)
    facts = {"pvc": row.claim_name, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team)
    audit(session, actor, "pvc.resize_ended", (RESIZE, row.id), facts, at=now)
    lines = (_ended(row), *([sentence(row.unblock)] if row.unblock else ()))
    _say(session, row, "ended", lines, now)
    refresh_cards(session, row.subject, live=False)


def _enter(session: Session, row: Resize, phase: ResizePhase, now: datetime) -> None:
    if row.phase == phase:
        return
    row.phase, row.since = phase, now
    if phase is ResizePhase.MOUNTING:
        size = plain(f" has {capacity(row.size_bytes)} now, but its file system has not. ")
        said = join("The volume of ", code(row.claim_name), size,
                    "It grows when a pod mounts the PVC next: start a run that mounts it, or"
                    " restart a pod that does.")  # fmt: skip
        _say(session, row, "mounting", (said,), now)


def _ended(row: Resize) -> Markup:
    name = code(row.claim_name)
    match ResizePhase(row.phase):
        case ResizePhase.DONE:
            return join(name, plain(f" has grown to {capacity(row.size_bytes)}."))
        case ResizePhase.DENIED | ResizePhase.EXPIRED | ResizePhase.WITHDRAWN as phase:
            said = f" {_UNBEGUN[phase]}. Nothing was changed."
            return join("The resize of ", name, plain(said))
        case _:
            return join(name, " did not grow. ", sentence(row.reason))


def _say(
    session: Session, row: Resize, purpose: str, lines: tuple[Markup, ...], now: datetime
) -> None:
    told = (join(person(row.person), " ", lines[0]), *lines[1:])
    note = ThreadMessage(purpose, told, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)


def _shown(row: Resize) -> tuple[object, ...]:
    """What the card shows."""
    return row.phase, row.since, row.obstacle, row.trouble, row.reason
