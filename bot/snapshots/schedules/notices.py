"""Thread replies of snapshot schedules, which mention the requester."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.masking import hide_secrets
from bot.slack.markup import Markup, code, join, person, plain, sentence, when
from bot.slack.messages import ThreadMessage, post_once
from bot.snapshots.tables import SnapshotSchedule

# Further failures within this time are not posted; the card counts them.
_QUIET = timedelta(days=1)


def late(session: Session, row: SnapshotSchedule, slot: datetime, why: str, now: datetime) -> None:
    """Replies that the snapshot of a slot is taken late; mentions no one."""
    line = join("The snapshot of ", when(slot), " is late. ", sentence(why))
    _say(session, row, ThreadMessage(f"late-{slot.isoformat()}", (line,)), now)


def failed(
    session: Session, row: SnapshotSchedule, slot: datetime, why: str, unblock: str, now: datetime
) -> None:
    """Replies why no snapshot was taken for a slot, at most once a day."""
    reason = hide_secrets(why)
    row.failures += 1
    row.said = reason
    if row.reported_at is not None and now - row.reported_at < _QUIET:
        return
    row.reported_at = now
    of = code(row.claim_name)
    lines = [
        join(person(row.person), " No snapshot of ", of, " was taken for ", when(slot), ". ",
             sentence(reason)),
    ]  # fmt: skip
    lines += [sentence(unblock)] if unblock else []
    if row.is_live:
        lines.append(join(plain("The next one is due "), when(row.next_at), "."))
    _mention(session, row, f"failed-{slot.isoformat()}", lines, now)


def missing(session: Session, row: SnapshotSchedule, slot: datetime, now: datetime) -> None:
    """Replies that the PVC is missing, and when the schedule stops."""
    line = join(person(row.person), " PVC ", code(row.claim_name), plain(" no longer exists, so no")
                , " snapshot was taken. Unless the PVC exists again by ", when(row.next_at),
                ", its schedule stops then. Its snapshots stay.")  # fmt: skip
    _mention(session, row, f"missing-{slot.isoformat()}", [line], now)


def stopped(session: Session, row: SnapshotSchedule, now: datetime) -> None:
    """Replies that the schedule has ended because its PVC is missing."""
    line = join(person(row.person), " The snapshot schedule of ", code(row.claim_name),
                " has stopped: its PVC is still missing. Its snapshots stay.")  # fmt: skip
    _mention(session, row, "stopped", [line], now)


def _mention(
    session: Session, row: SnapshotSchedule, purpose: str, lines: list[Markup], now: datetime
) -> None:
    note = ThreadMessage(purpose, tuple(lines), broadcast=True, owner=row.person)
    _say(session, row, note, now)


def _say(session: Session, row: SnapshotSchedule, note: ThreadMessage, now: datetime) -> None:
    post_once(session, row.subject, row.channel, note, now)
