"""What handlers call to show, post and schedule digests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.config import DIGEST_SECTIONS, Settings
from bot.database.columns import Moment, new_id
from bot.database.database import Database
from bot.errors import ConflictError, UsageError
from bot.gpus.digests.card import digest_card
from bot.gpus.digests.controller import wish_of
from bot.gpus.digests.gathering import Gathering
from bot.gpus.digests.plans import DigestPlan, local_date, plans_in_force, window_before
from bot.gpus.digests.tables import DIGEST, Digest, DigestChoice, Period
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.schedule import next_slot
from bot.slack.card import Card

_LONGEST_AGO = timedelta(days=400)
_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True)
class DigestRequest:
    """The requested digest: its day, whether it covers a week, and whether it is sent directly."""

    day: date | None = None
    is_week: bool = False
    is_direct: bool = False


@dataclass(frozen=True)
class Change:
    """Changes to the digest of a channel; None leaves a value unchanged."""

    at: str | None = None
    time_zone: str | None = None
    weekly: str | None = None
    daily: str | None = None
    sections: tuple[str, ...] | None = None


class DigestService:
    """Shows, posts and schedules digests; makes no calls outside the database."""

    def __init__(
        self, settings: Callable[[], Settings], database: Database, gathering: Gathering
    ) -> None:
        self._settings = settings
        self._database = database
        self._gathering = gathering

    def show(
        self, session: Session, caller: Caller, wanted: DigestRequest, now: datetime
    ) -> Callable[[], Card]:
        """A function that builds the digest as it would be posted now; it can take a moment."""
        row = self._row(session, caller, wanted, now)
        return lambda: self._card(row, now)

    def post(
        self, session: Session, caller: Caller, wanted: DigestRequest, now: datetime
    ) -> Digest:
        """Enqueues the digest for the caller's channel, or as a direct message to the caller."""
        row = self._row(session, caller, wanted, now)
        row.channel = caller.person if wanted.is_direct else row.channel
        _refuse_twice(session, row)
        session.add(row)
        session.flush()
        wake(session, DIGEST, row.id, DIGEST, now)
        _record(session, caller, "post", row.channel, {"day": row.day.isoformat()}, now)
        return row

    def plans(self, session: Session, now: datetime) -> list[tuple[DigestPlan, datetime]]:
        """Every scheduled digest, with its next time."""
        settings = self._settings()
        return [(plan, next_slot(*plan.pattern, now)) for plan in plans_in_force(session, settings)]

    def choose(
        self, session: Session, caller: Caller, channel: str, change: Change, now: datetime
    ) -> list[DigestPlan]:
        """Changes the digest of a channel; returns the plans that are now in force for it."""
        row = self._chosen(session, caller, channel, now)
        row.at = change.at or row.at
        row.time_zone = change.time_zone or row.time_zone
        row.daily = row.daily if change.daily is None else change.daily == "on"
        if change.weekly is not None:
            row.weekly = None if change.weekly == "off" else change.weekly
        row.sections = list(change.sections or row.sections)
        if not row.daily and not row.weekly:
            raise UsageError(
                "Nothing would be posted: daily and weekly are both off.",
                "Turn the digest off with `digest off`, or add, for example, `--weekly mon`.",
            )
        row.is_on, row.person, row.chosen_at = True, caller.person, now
        session.merge(row)
        facts = {"at": row.at, "time_zone": row.time_zone, "daily": str(row.daily),
                 "weekly": row.weekly or "off", "sections": " ".join(row.sections)}  # fmt: skip
        _record(session, caller, "set", channel, facts, now)
        session.flush()
        return [p for p in plans_in_force(session, self._settings()) if p.channel == channel]

    def turn_off(self, session: Session, caller: Caller, channel: str, now: datetime) -> None:
        """Turns the digests of a channel off, even if the configuration file has some."""
        told = {plan.channel for plan in plans_in_force(session, self._settings())}
        if channel not in told:
            raise ConflictError("That channel has no digest.", "`digest set` adds one.")
        row = self._chosen(session, caller, channel, now)
        row.is_on, row.person, row.chosen_at = False, caller.person, now
        session.merge(row)
        _record(session, caller, "off", channel, {}, now)

    def _chosen(
        self, session: Session, caller: Caller, channel: str, now: datetime
    ) -> DigestChoice:
        """The channel's settings: chosen in Slack, else from the file, else the defaults."""
        found = session.get(DigestChoice, (caller.workspace_id, channel))
        if found is not None:
            return found
        row = DigestChoice(
            workspace_id=caller.workspace_id,
            channel=channel,
            person=caller.person,
            chosen_at=now,
            sections=list(DIGEST_SECTIONS),
            time_zone=self._zone(channel, None),
        )
        usual = self._settings().digests.get(channel)
        if usual is not None:
            row.at, row.time_zone, row.daily = usual.at, usual.time_zone, usual.daily
            row.weekly, row.sections = usual.weekly, list(usual.sections)
        return row

    def _row(
        self, session: Session, caller: Caller, wanted: DigestRequest, now: datetime
    ) -> Digest:
        """A new row for a requested digest, of the caller's team or of all teams."""
        plans = plans_in_force(session, self._settings())
        mine = next((plan for plan in plans if plan.channel == caller.channel), None)
        zone = mine.time_zone if mine else self._zone(caller.channel, caller.team)
        period = Period.WEEK if wanted.is_week else Period.DAY
        today = local_date(now, zone)
        day = min((wanted.day + timedelta(days=1)) if wanted.day else today, today + timedelta(1))
        if today - day > _LONGEST_AGO or (wanted.day and wanted.day > today):
            raise UsageError(
                f"There are no figures for {wanted.day}.",
                f"Choose a day up to today, for example `--day {today - timedelta(days=1)}`.",
            )
        window = window_before(day, period, zone)
        return Digest(
            workspace_id=caller.workspace_id,
            channel=caller.channel,
            period=period,
            day=day,
            number=new_id(),
            team=caller.team,
            begun=window.begun,
            ended=min(window.ended, now),
            time_zone=zone,
            sections=list(mine.sections if mine else DIGEST_SECTIONS),
            asked_at=now,
        )

    def _zone(self, channel: str, team: str | None) -> str:
        teams = self._settings().teams
        for name, each in teams.items():
            if channel in each.channels or name == team:
                return each.time_zone
        return "UTC"

    def _card(self, row: Digest, now: datetime) -> Card:
        figures = self._database.read(
            lambda session: self._gathering.figures(session, wish_of(row), now)
        )
        return digest_card(figures, row.begun, row.ended, row.time_zone)


def _refuse_twice(session: Session, row: Digest) -> None:
    """ConflictError if the same digest was posted within a minute: a repeated click."""
    newest = session.scalar(
        select(func.max(col(Digest.asked_at), type_=Moment())).where(
            col(Digest.channel) == row.channel,
            col(Digest.period) == row.period,
            col(Digest.day) == row.day,
        )
    )
    if newest is not None and row.asked_at - newest < _AGAIN:
        raise ConflictError(
            "This digest was posted there less than a minute ago.",
            "Wait a minute to post it again.",
        )


def _record(
    session: Session,
    caller: Caller,
    what: str,
    channel: str,
    facts: dict[str, str],
    now: datetime,
) -> None:
    actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
    record(session, actor, f"gpu.digest.{what}", (DIGEST, channel), facts, at=now)
