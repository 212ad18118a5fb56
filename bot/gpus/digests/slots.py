"""The scheduled times of digests: each is claimed once, however many bots are running."""

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlmodel import Session, col

from bot.config import Settings
from bot.durations import format_duration
from bot.gpus.digests.plans import DigestPlan, local_date, plans_in_force, window_before
from bot.gpus.digests.tables import DIGEST, Digest
from bot.reconcile.due import wake
from bot.schedule import ScheduleEntry, claim_entry, enter, entered, slots_until
from bot.slack.messages import show_card

TeamOf = Callable[[str], str | None]

_BEGINNING = "digest:"
_LATE = timedelta(minutes=10)
_TOO_LATE = timedelta(hours=6)


class DigestSlots:
    """The digest schedules for the timetable; `team_of` gives the team of a channel."""

    name = "digests"

    def __init__(self, settings: Callable[[], Settings], team_of: TeamOf) -> None:
        self._settings = settings
        self._team_of = team_of

    def is_due(self, session: Session, now: datetime) -> bool:
        """Whether a digest is due, or a schedule has changed."""
        entries = entered(session, _BEGINNING)
        plans = {plan.entry: plan for plan in plans_in_force(session, self._settings())}
        if entries.keys() != plans.keys():
            return True
        return any(
            entry.next_at <= now or (entry.cron, entry.time_zone) != plans[name].pattern
            for name, entry in entries.items()
        )

    def work(self, session: Session, now: datetime) -> None:
        """Adds new schedules, claims due times, and deletes schedules that are off."""
        plans = {plan.entry: plan for plan in plans_in_force(session, self._settings())}
        for name in entered(session, _BEGINNING).keys() - plans.keys():
            session.connection().execute(
                delete(ScheduleEntry).where(col(ScheduleEntry.name) == name)
            )
        for plan in plans.values():
            enter(session, plan.entry, plan.pattern, now)
            slot = claim_entry(session, plan.entry, now)
            if slot is not None:
                self._tell(session, plan, slots_until(plan.pattern, slot, now), now)

    def _tell(
        self, session: Session, plan: DigestPlan, slots: list[datetime], now: datetime
    ) -> None:
        """Creates the digest of the last of these slots, with a note about missed ones."""
        slot = slots[-1]
        day = local_date(slot, plan.time_zone)
        window = window_before(day, plan.period, plan.time_zone)
        is_skipped = now - slot > _TOO_LATE
        digest = Digest(
            workspace_id=self._settings().workspace,
            channel=plan.channel,
            period=plan.period,
            day=day,
            team=self._team_of(plan.channel),
            begun=window.begun,
            ended=window.ended,
            time_zone=plan.time_zone,
            sections=list(plan.sections),
            asked_at=now,
            is_skipped=is_skipped,
            note=_note(slot, len(slots) - 1, now),
        )
        if _is_told(session, digest):
            return
        session.add(digest)
        session.flush()
        if is_skipped:
            show_card(session, digest.subject, digest.channel, now, live=False)
        else:
            wake(session, DIGEST, digest.id, DIGEST, now)


def _is_told(session: Session, digest: Digest) -> bool:
    """Whether the channel has this digest already, for example because its time was moved."""
    same = (
        col(Digest.workspace_id) == digest.workspace_id,
        col(Digest.channel) == digest.channel,
        col(Digest.period) == digest.period,
        col(Digest.day) == digest.day,
        col(Digest.number) == digest.number,
    )
    return session.scalar(select(col(Digest.id)).where(*same)) is not None


def _note(slot: datetime, missed: int, now: datetime) -> str:
    late = now - slot
    earlier = "1 earlier digest was" if missed == 1 else f"{missed} earlier digests were"
    before = f" {earlier} missed." if missed else ""
    if late > _TOO_LATE:
        return (
            f"No bot was available to post this digest until {format_duration(late)} after its"
            f" scheduled time. Digests more than {format_duration(_TOO_LATE)} late are skipped."
            f"{before}"
        )
    if late > _LATE:
        return (
            f"This digest is {format_duration(late)} late: no bot was available to post it.{before}"
        )
    return before.strip()
