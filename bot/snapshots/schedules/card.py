"""Cards of schedules of snapshots. Only the renderer reads rows."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sqlmodel import Session

from bot.datasets.wording import name_of
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when
from bot.snapshots import finding
from bot.snapshots.tables import SCHEDULE, Snapshot, SnapshotPhase, SnapshotSchedule

UNSCHEDULE = "snapshot.unschedule"
_STANDS = {
    SnapshotPhase.ASKED: "pending",
    SnapshotPhase.TAKING: "creating",
    SnapshotPhase.READY: "ready",
    SnapshotPhase.DELETING: "deleting",
    SnapshotPhase.DELETED: "deleted",
    SnapshotPhase.FAILED: "failed",
}


class ScheduleRenderer:
    """Renders schedules of snapshots."""

    kind = SCHEDULE

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The schedule's card; the same in every channel."""
        del channel
        row = session.get(SnapshotSchedule, subject_id)
        if row is None:
            return None
        last = session.get(Snapshot, row.last_id) if row.last_id is not None else None
        person = name_of(session, row.workspace_id, row.person)
        return schedule_card(row, person, last, finding.ready_on(session, row.id))


def schedule_card(
    row: SnapshotSchedule, person: str, last: Snapshot | None, ready: Sequence[Snapshot]
) -> Card:
    """The card of a schedule; `ready` are its snapshots that are ready."""
    is_hindered = bool(row.obstacle or row.trouble or row.failures or row.missing_since)
    tone = Tone.WARNING if is_hindered else Tone.GOOD
    return Card(
        title=f"Snapshot schedule of {row.claim_name}",
        state="Active" if row.is_live else "Stopped",
        tone=tone if row.is_live else Tone.STOPPED,
        lines=tuple(_lines(row)),
        facts=tuple(_facts(row, person, last, ready)),
        buttons=(Button(UNSCHEDULE, "Stop", row.id, "danger", _STOP),) if row.is_live else (),
    )


def kept(keep: timedelta | None, most: int | None) -> str:
    """How many snapshots are kept, and how long."""
    parts = [] if keep is None else [format_duration(keep)]
    parts += [] if most is None else [f"at most {most}"]
    return ", ".join(parts)


def covered(others: Sequence[str]) -> str:
    """A sentence that snapscheduler takes snapshots of the PVC too."""
    return (
        f"snapscheduler also takes snapshots of it: {', '.join(others)}. Quartermaster does not"
        " manage those, and they count towards the limit of the volume."
    )


def _lines(row: SnapshotSchedule) -> Iterator[Markup]:
    if row.said:
        yield sentence(row.said)
    if row.failures > 1:
        yield plain(f"{row.failures} snapshots in a row were not taken.")
    if row.is_live and row.obstacle:
        yield sentence(row.obstacle)
    if row.is_live and row.trouble:
        yield sentence(f"{row.trouble} Retrying.")
    if row.is_live and row.others:
        yield plain(covered(row.others))


def _facts(
    row: SnapshotSchedule, person: str, last: Snapshot | None, ready: Sequence[Snapshot]
) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Schedule", join(code(row.cron), plain(f" in {row.time_zone}"))
    yield "Kept", plain(kept(row.keep, row.most))
    if row.is_live:
        yield "Next", when(row.next_at)
    if last is not None:
        at = when(last.taken_at or last.asked_at)
        yield "Last", join(code(last.name), plain(f", {_STANDS[SnapshotPhase(last.phase)]}, "), at)
    yield "Snapshots", plain(f"{len(ready)} ready")
    yield "Requested by", plain(person)
    if row.ended_at is not None:
        yield "Stopped", when(row.ended_at)


_STOP = Confirm(
    "Stop taking these snapshots?",
    "Existing snapshots stay until they expire or are deleted.",
    "Stop",
    "Continue",
)
