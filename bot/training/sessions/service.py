"""The operations on sessions: opening and extending them."""

from datetime import datetime, timedelta

from sqlmodel import Session

from bot.audit import Actor, record
from bot.durations import format_duration
from bot.errors import ConflictError, LimitError, NotAllowedError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.training.session_time import is_session, last_moment
from bot.training.tables import KIND, Run, RunIntent, RunPhase


class SessionService:
    """The operations that handlers call; `words` formats a command."""

    def __init__(self, format_command: FormatCommand) -> None:
        self._format_command = format_command

    def refuse_opening(self, caller: Caller, run: Run) -> None:
        """UserError unless the run is a running session and the caller is its owner."""
        self._refuse_others(run)
        if run.person != caller.person:
            raise NotAllowedError(
                f"{run.reference} is a session of <@{run.person}>.",
                "How to open it is shown only to its owner, because the address lets anyone in.",
            )
        self._refuse_waiting(run)

    def extend(
        self, session: Session, caller: Caller, run: Run, by: timedelta, now: datetime
    ) -> Run:
        """Extends a session by that time."""
        self._refuse_extending(caller, run)
        return self._extend(session, caller, run, (run.until or now) + by, now)

    def extend_until(
        self, session: Session, caller: Caller, run: Run, until: datetime, now: datetime
    ) -> Run:
        """Extends a session until then; unchanged if it already lasts as long."""
        self._refuse_extending(caller, run)
        return self._extend(session, caller, run, until, now)

    def _extend(
        self, session: Session, caller: Caller, run: Run, until: datetime, now: datetime
    ) -> Run:
        room = last_moment(run) - (run.until or now)
        if until > last_moment(run):
            raise self._too_long(run, room)
        if run.until is not None and until <= run.until:
            return run
        run.until = until
        session.add(run)
        actor = Actor(caller.workspace_id, caller.person, caller.channel, run.team)
        facts = {"name": run.reference, "until": until.isoformat(timespec="minutes")}
        record(session, actor, "run.extend", (KIND, run.id), facts, at=now)
        refresh_cards(session, run.subject, live=True)
        wake(session, KIND, run.id, cluster_lane(run.cluster), now)
        return run

    def _refuse_extending(self, caller: Caller, run: Run) -> None:
        self._refuse_others(run)
        if run.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"{run.reference} is a session of <@{run.person}>.",
                "They can extend it, and so can a lead of the team or an admin.",
            )
        self._refuse_waiting(run)

    def _refuse_others(self, run: Run) -> None:
        if not is_session(run):
            raise ConflictError(
                f"{run.reference} is not a session: it was not started with `--kind interactive`.",
                f"`{self._format_command(f'train show {run.reference}')}` shows what it is.",
            )

    def _refuse_waiting(self, run: Run) -> None:
        is_leaving = run.wanted == RunIntent.STOP or run.removing is not None
        if not run.is_live or is_leaving:
            raise ConflictError(
                f"{run.reference} {'is ending' if run.is_live else 'has ended'}.",
                f"`{self._format_command(f'train resubmit {run.reference}')}` starts it again.",
            )
        if run.phase != RunPhase.RUNNING or run.until is None:
            raise ConflictError(
                f"{run.reference} is not running yet, and its time counts only once it is.",
                f"`{self._format_command(f'train why {run.reference}')}`"
                " shows what it is waiting for.",
            )

    def _too_long(self, run: Run, room: timedelta) -> LimitError:
        # Rounded down to what can be typed.
        room = timedelta(minutes=room // timedelta(minutes=1))
        most = format_duration(last_moment(run) - run.since + timedelta(seconds=run.seconds_used))
        hint = "Start another one when it ends."
        if room:
            example = f"train extend {run.reference} {format_duration(room).replace(' ', '')}"
            hint = f"`{self._format_command(example)}` is the most that is possible."
        return LimitError(f"{run.reference} may last {most} in total.", hint)
