"""Records the outcome of a step of a deletion in its row, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot import holds
from bot.audit import Actor
from bot.audit import record as audit
from bot.masking import hide_secrets
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import Findings
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import Subject, ThreadMessage, post_once, refresh_cards
from bot.snapshots.deletions.decide import Decision, DeletionObserved, EndDeletion, Saved
from bot.snapshots.deletions.tables import DELETION, Deletion, DeletionPhase
from bot.snapshots.tables import SNAPSHOT

DeletionFindings = Findings[Decision, DeletionObserved]


def record(session: Session, row_id: str, phase: str, found: DeletionFindings) -> None:
    """Updates the row, and refreshes the card if what it shows has changed.

    Does nothing if the row has changed its phase since it was read.
    """
    row = session.get(Deletion, row_id)
    if row is None or row.phase != phase:
        return
    before = _shown(row)
    row.trouble = ""
    match found.decision:
        case Saved():
            row.phase, row.since = DeletionPhase.DELETING, found.now
        case UpdateStatus(to, obstacle):
            row.since = row.since if row.phase == to else found.now
            row.phase, row.obstacle = to, hide_secrets(obstacle)
        case EndDeletion(to, reason, unblock):
            row.reason, row.unblock = hide_secrets(reason), unblock
            finish(session, row, to, found.now)
        case _:
            pass
    session.add(row)
    if _shown(row) != before:
        refresh_cards(session, row.subject, live=row.is_live)


def finish(session: Session, row: Deletion, phase: DeletionPhase, now: datetime) -> None:
    """Ends a deletion in a phase, writes the audit line and notifies the requester."""
    row.phase, row.since, row.ended_at = phase, now, now
    row.trouble = row.obstacle = ""
    session.add(row)
    if row.snapshot_id is not None:
        holds.let_go(session, (SNAPSHOT, row.snapshot_id), (DELETION, row.id))
        # Its card named the deletion.
        refresh_cards(session, Subject(row.workspace_id, SNAPSHOT, row.snapshot_id), live=False)
    facts = {"pvc": row.claim_name, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team)
    audit(session, actor, "pvc.delete_ended", (DELETION, row.id), facts, at=now)
    lines = (join(person(row.person), " ", _ended(row)),
             *([sentence(row.unblock)] if row.unblock else ()))  # fmt: skip
    note = ThreadMessage("ended", lines, broadcast=phase is DeletionPhase.FAILED, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    refresh_cards(session, row.subject, live=False)


def what_becomes_of(volume_name: str, reclaim_policy: str) -> str:
    """What becomes of the data of a PVC that is deleted, as a sentence."""
    if not volume_name:
        return "It has no volume, so no data is lost."
    if reclaim_policy == "Retain":
        return (
            f"Its data stays on PV {volume_name}, whose reclaim policy is Retain, and is billed"
            " until a platform admin deletes it."
        )
    return "Its volume and its data are deleted with it."


def _ended(row: Deletion) -> Markup:
    name = code(row.claim_name)
    if row.phase == DeletionPhase.DONE:
        data = what_becomes_of(row.volume_name, row.reclaim_policy)
        kept = f" Snapshot {row.snapshot} stays." if row.snapshot else ""
        return join("PVC ", name, plain(f" is deleted. {data}{kept}"))
    if row.phase == DeletionPhase.CANCELLED:
        return join("The deletion of PVC ", name, " was cancelled. The PVC stays.")
    return join("PVC ", name, " was not deleted. ", sentence(row.reason))


def _shown(row: Deletion) -> tuple[object, ...]:
    """What the card shows."""
    return row.phase, row.since, row.obstacle, row.trouble, row.reason
