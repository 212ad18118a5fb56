"""Cards of restores and clones. Only the renderer reads rows."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.wording import capacity, name_of
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, plain, sentence, when
from bot.snapshots.tables import RESTORE, Restore, RestorePhase, Snapshot
from bot.snapshots.wording import mounting

CANCEL = "snapshot.cancel"
_TONES = {
    RestorePhase.ASKED: Tone.WAITING,
    RestorePhase.MAKING: Tone.WORKING,
    RestorePhase.WAITING: Tone.GOOD,
    RestorePhase.READY: Tone.GOOD,
    RestorePhase.FAILED: Tone.BAD,
    RestorePhase.CANCELLED: Tone.STOPPED,
}


class RestoreRenderer:
    """Renders restores and clones."""

    kind = RESTORE

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The PVC's card; the same in every channel."""
        del channel
        row = session.get(Restore, subject_id)
        if row is None:
            return None
        source = session.get(Snapshot, row.snapshot_id) if row.snapshot_id is not None else None
        person = name_of(session, row.workspace_id, row.person)
        shows = source.taken_at if source is not None else None
        return restore_card(row, person, shows, self._clock.now())


def restore_card(row: Restore, person: str, shows: datetime | None, now: datetime) -> Card:
    """The card of a restore.

    `person` is the requester's name, `shows` when its snapshot was taken.
    """
    phase = RestorePhase(row.phase)
    is_hindered = row.is_live and bool(row.obstacle or row.trouble or row.is_late)
    return Card(
        title=f"PVC {row.claim_name} from {row.source}",
        state=_state(row, phase, now),
        tone=Tone.WARNING if is_hindered else _tone(row, phase),
        lines=tuple(_lines(row, phase)),
        facts=tuple(_facts(row, person, shows)),
        buttons=tuple(_buttons(row)),
    )


def _tone(row: Restore, phase: RestorePhase) -> Tone:
    is_leaving = row.is_live and row.cancelled_by is not None
    return Tone.WORKING if is_leaving else _TONES[phase]


def _state(row: Restore, phase: RestorePhase, now: datetime) -> str:
    if row.is_live and row.cancelled_by is not None:
        return "Cancelling"
    match phase:
        case RestorePhase.ASKED:
            return "Pending"
        case RestorePhase.MAKING:
            return f"Creating for {format_duration(max(now - row.since, timedelta()))}"
        case RestorePhase.WAITING:
            return "Waiting for a run to mount it"
        case RestorePhase.READY:
            return "Ready"
        case RestorePhase.FAILED:
            return "Failed"
        case RestorePhase.CANCELLED:
            return "Cancelled"


def _lines(row: Restore, phase: RestorePhase) -> Iterator[Markup]:
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if phase is RestorePhase.WAITING:
        yield plain(
            f"{row.storage_class} creates volumes only for a pod (WaitForFirstConsumer): the volume"
            " is created when the first run mounts this PVC."
        )
    if row.is_read_only and phase not in {RestorePhase.FAILED, RestorePhase.CANCELLED}:
        yield plain(
            "It is the snapshot itself, not a copy: the snapshot stays as long as this PVC."
        )
    if row.is_live and row.is_late:
        yield plain("This is late. Its driver should have created it by now.")
    if row.trouble and not row.is_cleared:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: Restore, person: str, shows: datetime | None) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "From", code(row.source)
    if row.snapshot_id is not None:
        yield "Snapshot of", code(row.of_claim)
    if shows is not None:
        yield "Taken", when(shows)
    yield "Volume", plain(f"{capacity(row.size_bytes)} on {row.storage_class}, {row.access_mode}")
    if row.run:
        yield "For", code(f"run {row.run}")
    yield "Requested by", plain(person)
    yield "Requested", when(row.asked_at)
    if row.phase in {RestorePhase.READY, RestorePhase.WAITING}:
        yield "Mount it", code(mounting(row.claim_name, is_read_only=row.is_read_only))
    if row.ended_at is not None:
        yield "Took", plain(format_duration(row.ended_at - row.asked_at))


def _buttons(row: Restore) -> Iterator[Button]:
    if row.is_live and row.cancelled_by is None and row.run_id is None:
        yield Button(CANCEL, "Cancel", row.id, None, _CANCEL)


_CANCEL = Confirm(
    "Cancel this?",
    "The PVC is deleted before it has a volume. If it gets a volume first, it stays.",
    "Cancel it",
    "Continue",
)
