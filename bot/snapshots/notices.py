"""Thread replies of snapshots and restores, which mention the requester."""

from datetime import datetime

from sqlmodel import Session

from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence, when
from bot.slack.messages import Subject, ThreadMessage, post_once
from bot.snapshots.tables import (
    RESTORE,
    RUN,
    SCHEDULE,
    SNAPSHOT,
    Restore,
    RestorePhase,
    Snapshot,
    SnapshotPhase,
)
from bot.snapshots.wording import mounting


def ended(session: Session, row: Snapshot, format_command: FormatCommand, now: datetime) -> None:
    """Replies once that the snapshot is ready or failed, and mentions the requester."""
    of = plain(f"{row.claim_name}" + (f" at the end of {row.run}" if row.run else ""))
    if row.phase == SnapshotPhase.READY:
        shows = join(", as of ", when(row.taken_at)) if row.taken_at else plain("")
        said = [
            join("The snapshot of ", of, " is ready: ", code(row.name), shows, "."),
            join(
                "To restore it to a new PVC: ", code(format_command(f"snapshot restore {row.name}"))
            ),
        ]
        if row.run:
            again = code(format_command(f"train resubmit {row.run} --from-snapshot"))
            said.append(join(again, plain(f" starts {row.run} again from that state.")))
    else:
        said = [join("The snapshot of ", of, " failed. ", sentence(row.reason))]
        said += [sentence(row.unblock)] if row.unblock else []
    if row.run_id is not None:
        _say_of_run(session, row, said, now)
    else:
        _say(session, row, "ended", said, now, is_bad=row.phase == SnapshotPhase.FAILED)


def vanished(session: Session, row: Snapshot, now: datetime) -> None:
    """Replies that the snapshot was deleted outside Quartermaster."""
    said = [join(code(row.name), ": ", sentence(row.reason), " The state that it held is lost.")]
    _say(session, row, "vanished", said, now, is_bad=True)


def stayed(session: Session, row: Snapshot, why: str, now: datetime) -> None:
    """Replies that the snapshot was not deleted, and why."""
    said = [join(code(row.name), " was not deleted. ", sentence(why))]
    _say(session, row, f"stayed-{now.isoformat()}", said, now, is_bad=False)


def restored(session: Session, row: Restore, format_command: FormatCommand, now: datetime) -> None:
    """Replies once that the PVC of a restore is ready or failed."""
    if row.run_id is not None:
        _restored_for_run(session, row, now)
        return
    if row.phase == RestorePhase.FAILED:
        said = [join("PVC ", code(row.claim_name), " was not created. ", sentence(row.reason))]
        said += [sentence(row.unblock)] if row.unblock else []
        _say(session, row, "ended", said, now, is_bad=True)
        return
    option = mounting(row.claim_name, is_read_only=row.is_read_only)
    example = format_command(f"train submit lane --image ghcr.io/acme/lane:3.1 {option}")
    said = [
        join("PVC ", code(row.claim_name), _holds(row)),
        join("To mount it: ", code(option), plain(", for example "), code(example)),
    ]  # fmt: skip
    _say(session, row, "ended", said, now, is_bad=False)


def cancelled(session: Session, row: Restore, now: datetime) -> None:
    """Replies that another person cancelled the restore."""
    if row.cancelled_by != row.person:
        said = [join("PVC ", code(row.claim_name), " was not created: ", sentence(row.reason))]
        _say(session, row, "ended", said, now, is_bad=False)


def _restored_for_run(session: Session, row: Restore, now: datetime) -> None:
    """Replies in the run's thread; if the run fails because of it, its end mentions the owner."""
    is_bad = row.phase == RestorePhase.FAILED
    end = join(" was not created. ", sentence(row.reason)) if is_bad else _holds(row)
    note = ThreadMessage(RESTORE, (join("PVC ", code(row.claim_name), end),), owner=row.person)
    post_once(session, Subject(row.workspace_id, RUN, row.run_id or ""), row.channel, note, now)


def _holds(row: Restore) -> Markup:
    of = "snapshot" if row.snapshot_id else "PVC"
    return plain(f" is ready. It holds the data of {of} {row.source}.")


def _say_of_run(session: Session, row: Snapshot, said: list[Markup], now: datetime) -> None:
    """Replies in the run's thread; mentions the owner again only if the snapshot failed."""
    is_bad = row.phase == SnapshotPhase.FAILED
    lines = (join(person(row.person), " ", said[0]), *said[1:]) if is_bad else tuple(said)
    note = ThreadMessage(SNAPSHOT, lines, broadcast=is_bad, owner=row.person)
    run = Subject(row.workspace_id, RUN, row.run_id or "")
    post_once(session, run, row.channel, note, now)


def _say(
    session: Session,
    row: Snapshot | Restore,
    purpose: str,
    said: list[Markup],
    now: datetime,
    *,
    is_bad: bool,
) -> None:
    lines = (join(person(row.person), " ", said[0]), *said[1:])
    subject = row.subject
    if isinstance(row, Snapshot) and row.schedule_id is not None:
        # It has no card of its own: one card shows all snapshots of a schedule.
        subject, purpose = Subject(row.workspace_id, SCHEDULE, row.schedule_id), row.id + purpose
    note = ThreadMessage(purpose, lines, broadcast=is_bad, owner=row.person)
    post_once(session, subject, row.channel, note, now)
