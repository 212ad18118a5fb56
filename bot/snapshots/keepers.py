"""Sentences on what keeps a snapshot (pins, restores), and on what deleting it would lose."""

from collections.abc import Iterator
from datetime import datetime

from sqlmodel import Session

from bot import holds
from bot.durations import format_duration
from bot.holds import Hold
from bot.snapshots import finding
from bot.snapshots.tables import RESTORE, SNAPSHOT, Restore, Snapshot

PIN = "pin"


def keeping(session: Session, row: Snapshot, now: datetime) -> list[str]:
    """Who holds the snapshot, as sentences; a held snapshot is not deleted."""
    found = holds.on(session, SNAPSHOT, row.id, now)
    order = sorted(found, key=lambda each: (each.subject_kind == PIN, each.subject_id))
    return [said_of(each, now) for each in order]


def said_of(hold: Hold, now: datetime) -> str:
    """Who holds, why and until when, as a sentence."""
    until = "" if hold.until is None else f" for another {format_duration(hold.until - now)}"
    if hold.subject_kind == PIN:
        return f"Pinned by <@{hold.subject_id}>{until}: {hold.why}."
    return f"{hold.why} needs it{until}."


def lost_with(session: Session, row: Snapshot) -> Iterator[str]:
    """What is lost if the snapshot is deleted, and what was created from it, as sentences."""
    newest = finding.newest_ready(session, row)
    if newest is not None and newest.id == row.id:
        yield f"It is the newest snapshot of {row.claim_name}."
    if row.run:
        yield f"It holds the end state of run {row.run}, which can be started again from it."
    made = [each.claim_name for each in finding.made_from(session, row.id) if each.uid]
    if made:
        yield f"PVCs created from it stay: {', '.join(made)}."


def release(session: Session, restore: Restore) -> None:
    """Releases the hold of a restore on its snapshot."""
    if restore.snapshot_id is not None:
        holds.let_go(session, (SNAPSHOT, restore.snapshot_id), (RESTORE, restore.id))
