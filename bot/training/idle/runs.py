"""Idle training runs: the owner is notified, and in some teams the run is stopped."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from sqlmodel import Session

from bot.config import IdleRuns, Settings
from bot.durations import format_duration
from bot.notices import Notice, NoticeKind
from bot.slack.card import Button
from bot.slack.markup import join, plain, when
from bot.slack.messages import ThreadMessage, is_coming
from bot.training.idle.service import NOTICE, Stop
from bot.training.runs.card import stop_button
from bot.training.session_time import is_session
from bot.training.spec import spec_of
from bot.training.tables import Run, RunIntent, RunPhase
from bot.training.watches.notices import tell_watched

SNOOZE = "gpu.snooze"
_STOPS = "idle-stop-"
# So often somebody looks; a notice that is not in Slack at one look may be there right after.
_LOOK = timedelta(minutes=5)


@dataclass(frozen=True)
class IdleRun:
    """A run whose GPUs are all known to be idle from one moment until another."""

    run_id: str
    since: datetime
    until: datetime


class IdleRunService:
    """Handles idle runs; `stop` stops the runs with the given root uids."""

    def __init__(self, settings: Callable[[], Settings], stop: Stop) -> None:
        self._settings = settings
        self._stop = stop

    def seen(self, session: Session, idle: IdleRun, now: datetime) -> None:
        """Notifies or reminds the owner, or stops the run, as the team's settings say."""
        run = session.get(Run, idle.run_id)
        if run is None or is_session(run) or not _is_running(run):
            return
        team = self._settings().teams.get(run.team)
        if team is None or any(fnmatchcase(run.name, each) for each in team.idle.exclude):
            return
        if run.kept_until is not None and run.kept_until > now:
            return
        # What was pushed out runs anew, and GPUs are held a little before a program runs on them.
        own = replace(idle, since=max(idle.since, run.since))
        self._tell(session, run, team.idle, own, now)

    def _tell(
        self, session: Session, run: Run, policy: IdleRuns, idle: IdleRun, now: datetime
    ) -> None:
        since = idle.since
        if isinstance(policy.notice_after, timedelta) and now >= since + policy.notice_after:
            _say(session, run, "idle", since, now)
        if isinstance(policy.remind_after, timedelta) and now >= since + policy.remind_after:
            _say(session, run, "idle-again", since, now)
        if isinstance(policy.stop_after, timedelta):
            self._warn_or_stop(session, run, policy.stop_after, idle, now)

    def _warn_or_stop(
        self, session: Session, run: Run, after: timedelta, idle: IdleRun, now: datetime
    ) -> None:
        """Stops a run only if its owner was warned of this idleness half an hour before.

        The GPUs must also be known to have been idle until then.
        """
        since = idle.since
        ends_at = max(since + after, run.kept_until or since)
        notice_at = max(ends_at - NOTICE, since)
        if run.warned_at is None or run.warned_at < notice_at:
            if now >= notice_at:
                run.warned_at = now
                session.add(run)
                _warn(session, run, since, now, max(ends_at, now + NOTICE))
        elif is_coming(session, run.subject, _STOPS):
            run.warned_at = now + _LOOK
            session.add(run)
        elif idle.until >= max(ends_at, run.warned_at + NOTICE) and run.job_uid is not None:
            why = f"Its GPUs were idle for {format_duration(idle.until - since)}."
            self._stop(session, [run.job_uid], why, now)


def _is_running(run: Run) -> bool:
    """Whether it is running and is not to be stopped."""
    return run.phase == RunPhase.RUNNING and run.wanted != RunIntent.STOP


def _say(session: Session, run: Run, purpose: str, since: datetime, now: datetime) -> None:
    still = " still" if purpose != "idle" else ""
    said = (
        join(plain(f"{run.reference}: its GPUs have{still} been idle since "), when(since),
             plain(". Holding memory does not count as work. Others may be waiting for them.")),
    )  # fmt: skip
    _say_to_owner(session, run, ThreadMessage(_purpose(purpose, since), said), now)


def _warn(session: Session, run: Run, since: datetime, now: datetime, stops_at: datetime) -> None:
    said = (
        join(plain(f"{run.reference}: its GPUs have been idle since "), when(since),
             plain(". It is stopped "), when(stops_at),
             plain(" unless they are used before then. Work since its last checkpoint is then"
                   " lost.")),
    )  # fmt: skip
    _say_to_owner(session, run, ThreadMessage(f"{_STOPS}{stops_at:%Y%m%d%H%M}", said), now)


def _say_to_owner(session: Session, run: Run, note: ThreadMessage, now: datetime) -> None:
    shown = replace(note, owner=run.person, buttons=_buttons(run))
    tell_watched(session, run, Notice(NoticeKind.IDLE, run.person, shown), now)


def _buttons(run: Run) -> tuple[Button, ...]:
    keep = Button(SNOOZE, "Leave it alone for 4h", run.id)
    return keep, stop_button(run, spec_of(run))


def _purpose(purpose: str, since: datetime) -> str:
    return f"{purpose}-{since:%Y%m%d%H%M}"
