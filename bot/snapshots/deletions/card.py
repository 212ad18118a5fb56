"""Cards of deletions: the question before one, and its progress. Only the renderer reads rows."""

from collections.abc import Iterator

from sqlmodel import Session

from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.snapshots.claims.found import ClaimSummary
from bot.snapshots.deletions.record import what_becomes_of
from bot.snapshots.deletions.service import DeletionRequest, written
from bot.snapshots.deletions.tables import DELETION, Deletion, DeletionPhase
from bot.volumes.wording import capacity

GO, CANCEL = "pvc.delete", "pvc.delete-cancel"
_STATES = {
    DeletionPhase.SAVING: ("Taking a snapshot first", Tone.WORKING),
    DeletionPhase.DELETING: ("Pending", Tone.WORKING),
    DeletionPhase.LEAVING: ("Being deleted", Tone.WORKING),
    DeletionPhase.DONE: ("Deleted", Tone.STOPPED),
    DeletionPhase.FAILED: ("Failed", Tone.BAD),
    DeletionPhase.CANCELLED: ("Cancelled", Tone.STOPPED),
}


def question(asked: DeletionRequest, found: ClaimSummary) -> Reply:
    """What is lost with a PVC, with the button that deletes it."""
    claim, volume = found.claim, found.volume
    policy = volume.spec.persistent_volume_reclaim_policy if volume is not None else ""
    data = what_becomes_of(volume.name if volume is not None else "", policy)
    count = len(found.snapshots)
    stay = f"Its {count} snapshots stay." if count > 1 else "Its snapshot stays." if count else (
        "It has no snapshots.")  # fmt: skip
    lines = (
        plain(f"{data} This cannot be undone."),
        plain("A snapshot is taken first, and stays." if asked.saves else f"{stay}"),
    )
    facts = (
        ("PVC", code(f"{claim.namespace}/{claim.name}")),
        ("Size", plain(capacity(claim.size_bytes or 0))),
        ("Class", plain(claim.spec.storage_class_name or "none")),
    )
    label = "Take a snapshot and delete it" if asked.saves else "Delete it"
    button = Button(GO, label, written(asked), "danger")
    title = f"Delete PVC {claim.name}?"
    return Reply(card=Card(title, lines=lines, facts=facts, buttons=(button,)), is_question=True)


def deletion_card(row: Deletion, asker: str, shown_in: str) -> Card:
    """The card of a deletion; it can be cancelled until its snapshot is ready."""
    state, tone = _STATES[DeletionPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    can_cancel = row.phase == DeletionPhase.SAVING and row.channel == shown_in
    return Card(
        title=f"Delete PVC {row.claim_name}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row)),
        facts=tuple(_facts(row, asker)),
        buttons=(Button(CANCEL, "Cancel", row.id),) if can_cancel else (),
    )


def _lines(row: Deletion) -> Iterator[Markup]:
    if row.phase == DeletionPhase.DONE:
        yield plain(what_becomes_of(row.volume_name, row.reclaim_policy))
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: Deletion, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Size", plain(capacity(row.size_bytes))
    yield "Class", plain(row.storage_class or "none")
    if row.snapshot:
        yield "Snapshot", code(row.snapshot)
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.cancelled_by is not None:
        yield "Cancelled by", person(row.cancelled_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


class DeletionRenderer:
    """Renders deletions."""

    kind = DELETION

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a deletion in this channel; None if there is no such deletion."""
        row = session.get(Deletion, subject_id)
        if row is None:
            return None
        return deletion_card(row, name_of(session, row.workspace_id, row.person), channel)
