"""Schedules: which entry is due, claimed once across all processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, ClassVar, Protocol, cast
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from sqlalchemy import CursorResult, func, select, update
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment
from bot.database.forgetting import forget_some
from bot.durations import format_duration
from bot.errors import UsageError

Work = Callable[[Session, datetime], None]

_DAY, _MONTH, _WEEKDAY = 2, 3, 4
_SAMPLES = 24
_EXAMPLE = "0 2 * * *"


class ScheduleEntry(SQLModel, table=True):
    """An entry with a cron pattern; `next_at` is its next slot on our clock."""

    __tablename__: ClassVar[Any] = "schedule_entries"

    name: str = Field(primary_key=True)
    cron: str
    time_zone: str
    next_at: datetime = Field(sa_type=Moment, index=True)


class ScheduleRun(SQLModel, table=True):
    """One slot that one process claimed."""

    __tablename__: ClassVar[Any] = "schedule_runs"

    name: str = Field(primary_key=True)
    slot: datetime = Field(primary_key=True, sa_type=Moment)
    claimed_at: datetime = Field(sa_type=Moment)


@dataclass(frozen=True)
class ScheduledJob:
    """A job of the timetable: `work` writes rows in the transaction that claims the slot."""

    name: str
    cron: str
    time_zone: str
    work: Work


class OwnSchedules(Protocol):
    """Schedules that people set, which can change while the bot runs."""

    name: str

    def is_due(self, session: Session, now: datetime) -> bool:
        """Whether there is anything to do; asked every few seconds."""
        ...

    def work(self, session: Session, now: datetime) -> None:
        """Does what is due; skips what is no longer due."""
        ...


def next_slot(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first slot of a five-field cron pattern after a moment; UsageError for a bad pattern.

    As in Debian's cron, where summer time begins or ends, a wall-clock time that is left out or
    repeated counts once, unless the minute or the hour begins with `*`.
    """
    slots = _parsed(cron, _fields(cron), after.astimezone(ZoneInfo(time_zone)))
    moments = (slot.astimezone(UTC) for slot in slots)
    # In a repeated hour the pattern gives the first of the two moments, which may be past.
    found = next((moment for moment in moments if moment > after), None)
    if found is None:
        raise _never(cron)
    return found


def upcoming(cron: str, time_zone: str, now: datetime, shortest: timedelta) -> list[datetime]:
    """The next slots of a pattern that a person wrote.

    UsageError if the pattern is bad or its slots come more often than each `shortest` time; its
    hint explains the format, with an example.
    """
    try:
        slots = [next_slot(cron, time_zone, now)]
        while len(slots) < _SAMPLES:
            slots.append(next_slot(cron, time_zone, slots[-1]))
    except UsageError as error:
        raise UsageError(error.message, _right(time_zone, now)) from error
    gaps = [later - earlier for earlier, later in pairwise(slots)]
    if min(gaps) < shortest:
        raise UsageError(
            f"{cron!r} is due every {format_duration(min(gaps))} at times. The shortest interval"
            f" is {format_duration(shortest)}.",
            _right(time_zone, now),
        )
    return slots


def install(session: Session, jobs: Sequence[ScheduledJob], now: datetime) -> None:
    """Adds timetable jobs that are new or whose pattern changed."""
    for job in jobs:
        enter(session, job.name, (job.cron, job.time_zone), now)


def enter(session: Session, name: str, pattern: tuple[str, str], now: datetime) -> None:
    """Enters a pattern and its zone under a name; its slots count from now on if they are new."""
    entry = session.get(ScheduleEntry, name)
    if entry is None or (entry.cron, entry.time_zone) != pattern:
        cron, time_zone = pattern
        next_at = next_slot(cron, time_zone, now)
        session.merge(ScheduleEntry(name=name, cron=cron, time_zone=time_zone, next_at=next_at))


def entered(session: Session, beginning: str) -> dict[str, ScheduleEntry]:
    """The entries whose names begin so."""
    found = session.scalars(
        select(ScheduleEntry).where(col(ScheduleEntry.name).startswith(beginning, autoescape=True))
    )
    return {entry.name: entry for entry in found}


def slots_until(entry: tuple[str, str], first: datetime, now: datetime) -> list[datetime]:
    """The slots of a pattern and its zone, from one of them up to now."""
    cron, time_zone = entry
    found = [first]
    while (following := next_slot(cron, time_zone, found[-1])) <= now:
        found.append(following)
    return found


def claim_slot(session: Session, job: ScheduledJob, now: datetime) -> bool:
    """Takes the job's slot if it is due, moves the entry on, and does its work in one go.

    Slots missed while nothing ran count as one.
    """
    if claim_entry(session, job.name, now) is None:
        return False
    job.work(session, now)
    return True


def claim_entry(session: Session, name: str, now: datetime) -> datetime | None:
    """The slot of an entry that is due, and the entry moved on; None when it is not ours to take.

    It is the first one that was missed, where several were.
    """
    entry = session.get(ScheduleEntry, name)
    if entry is None or entry.next_at > now:
        return None
    slot = entry.next_at
    moved = session.connection().execute(
        update(ScheduleEntry)
        .where(col(ScheduleEntry.name) == name, col(ScheduleEntry.next_at) == slot)
        .values(next_at=next_slot(entry.cron, entry.time_zone, now))
    )
    if cast("CursorResult[Any]", moved).rowcount != 1:
        return None
    session.add(ScheduleRun(name=name, slot=slot, claimed_at=now))
    return slot


def earliest_slot(session: Session) -> datetime | None:
    """When the next slot of any entry is due."""
    return session.scalar(select(func.min(col(ScheduleEntry.next_at), type_=Moment())))


def forget_runs(session: Session, before: datetime) -> None:
    """Removes the record of slots older than `before`."""
    forget_some(session, ScheduleRun, col(ScheduleRun.slot) < before)


def _fields(cron: str) -> list[str]:
    fields = cron.split()
    if len(fields) != len(("minute", "hour", "day", "month", "weekday")):
        raise UsageError(f"{cron!r} does not have five fields.", "Use, for example, 0 2 * * *.")
    if fields[_DAY] != "*" and fields[_WEEKDAY] != "*":
        raise UsageError(
            f"{cron!r} sets both a day of the month and a weekday.",
            "Set only one of them, for example 0 2 1 * * or 0 2 * * mon.",
        )
    if "/" in fields[_WEEKDAY]:
        raise UsageError(
            f"{fields[_WEEKDAY]!r} uses steps for weekdays.", "List the days: mon,wed,fri."
        )
    return fields


def _parsed(cron: str, fields: Sequence[str], after: datetime) -> CronSim:
    try:
        return CronSim(" ".join(fields), after)
    except CronSimError as error:
        if fields[_MONTH] != "*":
            _parsed(cron, [*fields[:_MONTH], "*", *fields[_MONTH + 1 :]], after)
            raise _never(cron) from error  # its day is only in other months
        raise UsageError(f"{cron!r}: {error}", "Use, for example, 0 2 * * mon-fri.") from error


def _right(time_zone: str, now: datetime) -> str:
    """An example of a pattern, with its next slot."""
    coming = next_slot(_EXAMPLE, time_zone, now)
    return (
        f"Use five fields: minute, hour, day, month, weekday. {_EXAMPLE} is daily at 02:00"
        f" in {time_zone}, next on {coming:%Y-%m-%d at %H:%M} UTC."
    )


def _never(cron: str) -> UsageError:
    return UsageError(f"{cron!r} never occurs.", "Use, for example, 0 2 * * * (daily at 2).")
