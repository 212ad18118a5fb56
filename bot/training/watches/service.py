"""Starts and ends watches: people who are notified about a run of another person."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.database.forgetting import forget_some
from bot.errors import ConflictError
from bot.people.access import Caller
from bot.slack.markup import FormatCommand
from bot.training.spec import is_shown_by_sweep
from bot.training.tables import KIND, Run, RunWatch


class WatchService:
    """The operations that handlers call; `format_command` formats a command."""

    def __init__(self, format_command: FormatCommand) -> None:
        self._format_command = format_command

    def watch(self, session: Session, caller: Caller, run: Run, now: datetime) -> bool:
        """Notifies the caller too until the run ends; False if that was so before.

        ConflictError if it has ended, or if the caller is notified anyway, as its owner.
        """
        if not run.is_live:
            raise ConflictError(
                f"{run.reference} has ended, so there is nothing left to watch.",
                f"`{self._format_command(f'train show {run.reference}')}` shows how it ended.",
            )
        if run.person == caller.person and not is_shown_by_sweep(run):
            raise ConflictError(
                f"{run.reference} is your own run, so you are notified of it already.",
                f"`{self._format_command('notices show')}` shows how.",
            )
        if session.get(RunWatch, (run.id, caller.person)) is not None:
            return False
        session.add(RunWatch(run_id=run.id, person=caller.person, began_at=now))
        _record(session, caller, run, "run.watch", now)
        return True

    def unwatch(self, session: Session, caller: Caller, run: Run, now: datetime) -> bool:
        """Notifies the caller no longer; False if they did not watch it."""
        row = session.get(RunWatch, (run.id, caller.person))
        if row is None:
            return False
        session.delete(row)
        _record(session, caller, run, "run.unwatch", now)
        return True


def watchers(session: Session, run: Run) -> list[str]:
    """The people who watch a run, the first one first."""
    found = select(col(RunWatch.person)).where(col(RunWatch.run_id) == run.id)
    return list(session.scalars(found.order_by(col(RunWatch.began_at), col(RunWatch.person))))


def end_watches(session: Session, run: Run) -> None:
    """Ends all watches of a run."""
    session.connection().execute(delete(RunWatch).where(col(RunWatch.run_id) == run.id))


def forget(session: Session) -> None:
    """Deletes watches of runs that an older version of the bot ended."""
    ended = select(col(Run.id)).where(
        col(Run.id) == col(RunWatch.run_id), col(Run.ended_at).is_not(None)
    )
    forget_some(session, RunWatch, ended.exists())


def _record(session: Session, caller: Caller, run: Run, verb: str, now: datetime) -> None:
    actor = Actor(caller.workspace_id, caller.person, caller.channel, run.team)
    record(session, actor, verb, (KIND, run.id), {"name": run.reference}, at=now)
