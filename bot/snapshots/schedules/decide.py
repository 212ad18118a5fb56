"""Decides the next step for a snapshot schedule. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.durations import format_duration
from bot.schedule import next_slot
from bot.snapshots.classes import Problem
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.tables import SnapshotSchedule

# Usual delay if the bot is busy or another snapshot is being taken; not worth a reply.
USUAL = timedelta(minutes=10)


@dataclass(frozen=True)
class ScheduleObserved:
    """What the cluster and the rows show of a schedule.

    `has_claim` says whether the PVC exists and is not being deleted; `busy` is what the next
    snapshot has to wait for, as a sentence, or empty.
    """

    has_claim: bool
    plan: SnapshotPlan | Problem
    busy: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Defer:
    """The slot is due, but something has to end first."""

    why: str


@dataclass(frozen=True)
class Take:
    """Take the snapshot of a slot; a sentence says why it is late, if it is."""

    slot: datetime
    plan: SnapshotPlan
    late: str = ""


@dataclass(frozen=True)
class Skip:
    """Take no snapshot for a slot; sentences give the reason and what to do."""

    slot: datetime
    reason: str
    unblock: str = ""


@dataclass(frozen=True)
class Missing:
    """The PVC is missing: post that now; the schedule stops at the next slot."""

    slot: datetime


@dataclass(frozen=True)
class Stop:
    """The PVC is still missing: end the schedule."""


Decision = Defer | Take | Skip | Missing | Stop


def decide(
    row: SnapshotSchedule, look: ScheduleObserved, now: datetime, within: timedelta
) -> Decision:
    """The next step for a schedule whose slot is due, at most `within` that time late."""
    slot = newest_slot(row, now, within)
    if not look.has_claim:
        return Missing(slot) if row.missing_since is None else Stop()
    late = now - slot
    if late > within:
        return Skip(slot, _too_late(row, within), "")
    if look.busy:
        return Defer(look.busy)
    if isinstance(look.plan, Problem):
        return Skip(slot, look.plan.reason, look.plan.unblock)
    return Take(slot, look.plan, _lateness(row, slot, late))


def newest_slot(row: SnapshotSchedule, now: datetime, within: timedelta) -> datetime:
    """The newest slot that is due; if all are too late, the first of them."""
    slot = row.next_at
    following = next_slot(row.cron, row.time_zone, max(slot, now - within))
    while following <= now:
        slot, following = following, next_slot(row.cron, row.time_zone, following)
    return slot


def _lateness(row: SnapshotSchedule, slot: datetime, late: timedelta) -> str:
    if late <= USUAL:
        return ""
    earlier = " Earlier ones were missed too." if slot != row.next_at else ""
    return f"It is taken {format_duration(late)} late. {_why(row)}{earlier}".rstrip()


def _too_late(row: SnapshotSchedule, within: timedelta) -> str:
    latest = f"It could not be taken within {format_duration(within)} (snapshots.late_within)."
    return f"{latest} {_why(row)}".rstrip()


def _why(row: SnapshotSchedule) -> str:
    return row.trouble or row.obstacle or "Quartermaster was not running at the time."
