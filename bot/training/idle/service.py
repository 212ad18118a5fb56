"""Records the GPU utilization of runs and stops idle sessions, with notice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.config import Settings
from bot.durations import format_duration
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import Caller, Right
from bot.slack.markup import FormatCommand
from bot.slack.messages import is_coming, refresh_cards
from bot.training import notices
from bot.training.kinds import gpus_of
from bot.training.session_time import is_session
from bot.training.spec import spec_of
from bot.training.tables import KIND, Run, RunIntent, RunPhase

NOTICE = timedelta(minutes=30)
KEPT_FOR = timedelta(hours=4)
MOST_AT_ONCE = 5
# So often somebody looks; a notice that is not in Slack at one look may be there right after.
_LOOK = timedelta(minutes=5)
_MEASURED_WITHIN = timedelta(days=1)

Stop = Callable[[Session, Sequence[str], str, datetime], None]


@dataclass(frozen=True)
class GpuActivity:
    """The observed use of a run's GPUs until `seen_at`.

    All of them have been idle since `idle_since`; None if one was busy, or unknown.
    """

    seen_at: datetime
    idle_since: datetime | None


class IdlingService:
    """Handles observations of GPUs; `stop` stops the runs with the given root uids."""

    def __init__(
        self, settings: Callable[[], Settings], stop: Stop, format_command: FormatCommand
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._format_command = format_command

    def watched(self, session: Session, cluster: str) -> list[Run]:
        """The running sessions with GPUs of a cluster."""
        found = session.scalars(
            select(Run).where(
                col(Run.cluster) == cluster,
                col(Run.ended_at).is_(None),
                col(Run.phase) == RunPhase.RUNNING,
                col(Run.until).is_not(None),
            )
        )
        return [run for run in found if gpus_of(spec_of(run))]

    def unmeasured(
        self, session: Session, cluster: str, until: datetime, now: datetime
    ) -> list[Run]:
        """A few runs that ended in the day before then and whose GPU use is not summed up yet."""
        return list(
            session.scalars(
                select(Run)
                .where(
                    col(Run.cluster) == cluster,
                    col(Run.ended_at) > now - _MEASURED_WITHIN,
                    col(Run.ended_at) <= until,
                    col(Run.measured_at).is_(None),
                )
                .order_by(col(Run.ended_at))
                .limit(MOST_AT_ONCE)
            )
        )

    def measured(self, session: Session, run_id: str, busy: float | None, now: datetime) -> None:
        """Stores how busy the GPUs of an ended run were overall, in 0..1; None is unknown."""
        run = session.get(Run, run_id)
        if run is not None and run.measured_at is None:
            run.gpus_busy, run.measured_at = busy, now
            session.add(run)

    def seen(self, session: Session, run_id: str, sight: GpuActivity, now: datetime) -> None:
        """Records the use of a session's GPUs; notifies its owner or stops it if they are idle."""
        run = session.get(Run, run_id)
        if run is None or run.phase != RunPhase.RUNNING or run.wanted == RunIntent.STOP:
            return
        if sight.idle_since is not None and sight.seen_at <= run.since:
            return  # It was pushed out meanwhile, and of how it runs anew nothing is known yet.
        sight = _own(sight, run)
        was_idle, run.idle_since = run.idle_since, sight.idle_since
        session.add(run)
        if (was_idle is None) != (run.idle_since is None):
            refresh_cards(session, run.subject, live=True)
        team = self._settings().teams.get(run.team)
        limit = team.limits.interactive_idle if team is not None else None
        if sight.idle_since is not None and limit is not None:
            self._warn_or_stop(session, run, limit, sight.seen_at, now)

    def forget(self, session: Session, cluster: str) -> None:
        """Records that the use of the GPUs of a cluster's sessions is unknown at the moment."""
        for run in self.watched(session, cluster):
            if run.idle_since is not None:
                run.idle_since = None
                session.add(run)
                refresh_cards(session, run.subject, live=True)

    def keep(self, session: Session, caller: Caller, run: Run, now: datetime) -> datetime:
        """Keeps a run for four hours, idle or not; returns until when."""
        if run.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            sort = "session" if is_session(run) else "run"
            raise NotAllowedError(
                f"{run.reference} is a {sort} of <@{run.person}>.",
                "They can keep it, and so can a lead of the team or an admin.",
            )
        if not run.is_live or run.wanted == RunIntent.STOP:
            raise ConflictError(
                f"{run.reference} {'is ending' if run.is_live else 'has ended'}.",
                f"`{self._format_command(f'train resubmit {run.reference}')}` starts it again.",
            )
        run.kept_until = now + KEPT_FOR
        session.add(run)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, run.team)
        facts = {"name": run.reference, "until": run.kept_until.isoformat(timespec="minutes")}
        record(session, actor, "run.keep", (KIND, run.id), facts, at=now)
        return run.kept_until

    def _warn_or_stop(
        self, session: Session, run: Run, limit: timedelta, seen_at: datetime, now: datetime
    ) -> None:
        """Stops a session only after a notice of this idleness, however long the time has passed.

        The notice counts from when people could read it, and the GPUs must be known to have been
        idle until then: `times` are until when that is known, and now.
        """
        if run.idle_since is None:
            return
        ends_at = max(run.idle_since + limit, run.kept_until or run.idle_since)
        notice_at = max(ends_at - NOTICE, run.idle_since)
        if run.warned_at is None or run.warned_at < notice_at:
            if now >= notice_at:
                run.warned_at = now
                notices.is_idle(session, run, max(ends_at, now + NOTICE), now)
        elif is_coming(session, run.subject, notices.IDLE):
            run.warned_at = now + _LOOK
        elif seen_at >= max(ends_at, run.warned_at + NOTICE) and run.job_uid is not None:
            lasted = format_duration(seen_at - run.idle_since)
            self._stop(session, [run.job_uid], f"Its GPUs were idle for {lasted}.", now)


def _own(sight: GpuActivity, run: Run) -> GpuActivity:
    """The observation limited to its current stretch; its first minute may begin earlier."""
    since = sight.idle_since
    return replace(sight, idle_since=None if since is None else max(since, run.since))
