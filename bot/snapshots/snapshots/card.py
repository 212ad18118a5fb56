"""Cards of snapshots. Only the renderer reads rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.wording import capacity, name_of
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when
from bot.snapshots.keepers import keeping
from bot.snapshots.tables import SNAPSHOT, Snapshot, SnapshotIntent, SnapshotPhase

DELETE, RESTORE = "snapshot.delete", "snapshot.restore"
_TONES = {
    SnapshotPhase.ASKED: Tone.WAITING,
    SnapshotPhase.TAKING: Tone.WORKING,
    SnapshotPhase.READY: Tone.GOOD,
    SnapshotPhase.DELETING: Tone.WORKING,
    SnapshotPhase.DELETED: Tone.STOPPED,
    SnapshotPhase.FAILED: Tone.BAD,
}


class SnapshotRenderer:
    """Renders snapshots."""

    kind = SNAPSHOT

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The snapshot's card; the same in every channel."""
        del channel
        row = session.get(Snapshot, subject_id)
        if row is None:
            return None
        now, person = self._clock.now(), name_of(session, row.workspace_id, row.person)
        return snapshot_card(row, person, keeping(session, row, now), now)


def snapshot_card(row: Snapshot, person: str, held: Sequence[str], now: datetime) -> Card:
    """The card of a snapshot.

    `person` is the requester's name, `held` are sentences on what keeps the snapshot.
    """
    phase = SnapshotPhase(row.phase)
    is_hindered = row.is_live and bool(row.obstacle or row.trouble or row.is_late)
    return Card(
        title=f"Snapshot {row.name}",
        state=_state(row, phase, now),
        tone=Tone.WARNING if is_hindered else _tone(row, phase),
        lines=tuple(_lines(row, held)),
        facts=tuple(_facts(row, person)),
        buttons=tuple(_buttons(row)),
    )


def _tone(row: Snapshot, phase: SnapshotPhase) -> Tone:
    is_leaving = row.is_live and row.wanted == SnapshotIntent.DELETED
    return Tone.WORKING if is_leaving else _TONES[phase]


def _state(row: Snapshot, phase: SnapshotPhase, now: datetime) -> str:
    if row.is_live and row.wanted == SnapshotIntent.DELETED:
        return "Deleting"
    match phase:
        case SnapshotPhase.ASKED:
            return "Pending"
        case SnapshotPhase.TAKING:
            return f"Creating for {format_duration(max(now - row.since, timedelta()))}"
        case SnapshotPhase.READY:
            return "Ready"
        case SnapshotPhase.DELETING:
            return "Deleting"
        case SnapshotPhase.DELETED:
            return "Deleted"
        case SnapshotPhase.FAILED:
            return "Failed"


def _lines(row: Snapshot, held: Sequence[str]) -> Iterator[Markup]:
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.is_live and row.is_late:
        yield plain("This is late. Most drivers take seconds.")
    if row.trouble and not row.is_cleared:
        yield sentence(f"{row.trouble} Retrying.")
    if row.is_live:
        yield from (sentence(each) for each in held)
    if (
        row.phase in {SnapshotPhase.DELETING, SnapshotPhase.DELETED}
        and row.deletion_policy == "Retain"
    ):
        yield plain(
            "The storage snapshot is kept and billed: the deletion policy of its class is Retain."
        )


def _facts(row: Snapshot, person: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Volume", plain(f"{capacity(row.capacity_bytes)} on {row.storage_class}")
    yield from _origin(row)
    for reference, digest in row.data:
        yield "Data", join(code(reference), plain(f" {digest}" if digest else ""))
    if row.note:
        yield "Note", plain(row.note)
    if row.taken_at is not None:
        yield "Taken", when(row.taken_at)
    if row.size_bytes is not None:
        yield "Restored size", plain(f"at least {capacity(row.size_bytes)}")
    yield "Requested by", plain(person)
    yield "Requested", when(row.asked_at)
    if row.snapshot_class:
        yield "Class", plain(f"{row.snapshot_class} ({row.driver})")
    if row.is_live and row.phase != SnapshotPhase.DELETING:
        until = plain("it is deleted manually") if row.keep_until is None else when(row.keep_until)
        yield "Kept until", until
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _origin(row: Snapshot) -> Iterator[tuple[str, Markup]]:
    """The run or the schedule that had it taken."""
    if row.run:
        yield "Run", code(row.run)
    if row.slot is not None:
        yield "Scheduled for", when(row.slot)


def _buttons(row: Snapshot) -> Iterator[Button]:
    if row.is_usable:
        yield Button(RESTORE, "Restore", row.id, None, _RESTORE)
        yield delete_snapshot_button(row)


def delete_snapshot_button(row: Snapshot, label: str = "Delete") -> Button:
    """The button that deletes a snapshot, after a confirmation."""
    return Button(DELETE, label[:75], row.id, "danger", _delete(row))


def _delete(row: Snapshot) -> Confirm:
    shows = f" of {row.claim_name}" + (f" at the end of {row.run}" if row.run else "")
    text = f"The state{shows} in this snapshot is lost. This cannot be undone."
    return Confirm("Delete this snapshot?", text, "Delete it", "Keep it")


_RESTORE = Confirm(
    "Restore this snapshot?",
    "This creates a new PVC from it, as large as the volume was. The old PVC is not changed.",
    "Restore it",
)
