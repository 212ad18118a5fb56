"""Which channels get digests, and when: from the file, and as set by admins in Slack."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlmodel import Session, col

from bot.config import Settings
from bot.gpus.digests.tables import DigestChoice, Period
from bot.gpus.minutes import Window

_DAYS = {Period.DAY: 1, Period.WEEK: 7}
_ENTRY = "digest:"


@dataclass(frozen=True)
class DigestPlan:
    """One channel's daily or weekly digest; `by` set it in Slack, None means the file."""

    channel: str
    period: Period
    at: str
    time_zone: str
    weekday: str | None
    sections: tuple[str, ...]
    by: str | None = None

    @property
    def entry(self) -> str:
        """The name of its entry in the timetable."""
        return f"{_ENTRY}{self.period}:{self.channel}"

    @property
    def pattern(self) -> tuple[str, str]:
        """When it is posted, as a cron expression and its time zone."""
        hour, minute = map(int, self.at.split(":"))
        return f"{minute} {hour} * * {self.weekday or '*'}", self.time_zone


def plans_in_force(session: Session, settings: Settings) -> list[DigestPlan]:
    """All schedules in force, by channel; those set in Slack override the file."""
    chosen = {
        row.channel: row
        for row in session.scalars(
            select(DigestChoice).where(col(DigestChoice.workspace_id) == settings.workspace)
        )
    }
    found: list[DigestPlan] = []
    for channel in sorted({*settings.digests, *chosen}):
        found += _plans(channel, settings, chosen.get(channel))
    return found


def _plans(channel: str, settings: Settings, chosen: DigestChoice | None) -> Iterator[DigestPlan]:
    kept = chosen or settings.digests.get(channel)
    if kept is None or (chosen is not None and not chosen.is_on):
        return
    by = chosen.person if chosen else None
    if kept.daily:
        yield DigestPlan(
            channel, Period.DAY, kept.at, kept.time_zone, None, tuple(kept.sections), by
        )
    if kept.weekly:
        yield DigestPlan(
            channel, Period.WEEK, kept.at, kept.time_zone, kept.weekly, tuple(kept.sections), by
        )


def window_before(day: date, period: Period, time_zone: str) -> Window:
    """The days of a period before a date in a time zone; a day can have 23 or 25 hours."""
    return days_until(day, _DAYS[period], time_zone)


def days_until(day: date, count: int, time_zone: str) -> Window:
    """The window of `count` whole days before a date."""
    return Window(_midnight(day - timedelta(days=count), time_zone), _midnight(day, time_zone))


def local_date(moment: datetime, time_zone: str) -> date:
    """The local date in a time zone."""
    return moment.astimezone(ZoneInfo(time_zone)).date()


def _midnight(day: date, time_zone: str) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(time_zone)).astimezone(ZoneInfo("UTC"))
