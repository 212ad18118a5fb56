"""Starts and stops following logs in direct messages."""

from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from bot.database.forgetting import MOST_ROWS
from bot.errors import ConflictError, LimitError, NotAllowedError, NotFoundError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.slack.messages import Message, show_card
from bot.training.tables import FOLLOW, LogFollow, Run

LASTS = timedelta(minutes=10)
"""How long a log is followed after somebody asked for it last."""

MOST_LINES = 50
MOST_AT_ONCE = 10
MOST_OF_A_PERSON = 3
_KEPT = timedelta(days=1)
_LIVE = col(LogFollow.ended_at).is_(None)


class FollowService:
    """The operations that handlers call; `words` formats a command."""

    def __init__(self, format_command: FormatCommand) -> None:
        self._format_command = format_command

    def follow(
        self, session: Session, caller: Caller, run: Run, now: datetime, *, pod: str, lines: int
    ) -> LogFollow:
        """Shows the caller a log in a direct message: the last lines of a pod.

        A log that they already follow is extended as if it were new.
        """
        self._refuse_ended(run)
        row = _of(session, caller.person, run) or self._begun(session, caller, run, now)
        row.pod, row.lines = pod, min(lines, MOST_LINES)
        row.until, row.stop_at = now + LASTS, None
        session.add(row)
        show_card(session, row.subject, row.person, now, live=True, owner=row.person)
        wake(session, FOLLOW, row.id, cluster_lane(run.cluster), now)
        return row

    def get(self, session: Session, follow_id: str) -> LogFollow:
        """The followed log of a button; NotFoundError when it no longer exists."""
        row = session.get(LogFollow, follow_id)
        if row is None:
            again = self._format_command("train logs lane --follow")
            raise NotFoundError(
                "This log was followed more than a day ago.", f"`{again}` follows a log."
            )
        return row

    def stop(self, session: Session, caller: Caller, row: LogFollow, now: datetime) -> Run:
        """Stops following; the message keeps the lines it shows."""
        if row.person != caller.person:
            raise NotAllowedError(f"<@{row.person}> follows this log, and only they can stop it.")
        run = session.get_one(Run, row.run_id)
        if row.ended_at is None and row.stop_at is None:
            row.stop_at = now
            session.add(row)
            wake(session, FOLLOW, row.id, cluster_lane(run.cluster), now)
        return run

    def _begun(self, session: Session, caller: Caller, run: Run, now: datetime) -> LogFollow:
        live = list(session.scalars(select(col(LogFollow.person)).where(_LIVE)))
        alone = f"`{self._format_command(f'train logs {run.reference}')}` shows its last lines."
        if live.count(caller.person) >= MOST_OF_A_PERSON:
            raise LimitError(
                f"You already follow {MOST_OF_A_PERSON} logs, the maximum at a time.",
                f"Stop one with its button. {alone}",
            )
        if len(live) >= MOST_AT_ONCE:
            raise LimitError(
                f"{MOST_AT_ONCE} logs are being followed, the maximum that can be kept up to"
                " date in Slack.",
                f"Try again in a few minutes. {alone}",
            )
        return LogFollow(
            workspace_id=caller.workspace_id,
            team=run.team,
            person=caller.person,
            run_id=run.id,
            lines=MOST_LINES,
            begun_at=now,
            until=now + LASTS,
        )

    def _refuse_ended(self, run: Run) -> None:
        if not run.is_live:
            raise ConflictError(
                f"{run.reference} has ended, so its log no longer grows.",
                f"`{self._format_command(f'train logs {run.reference}')}` shows it.",
            )


def live_count(session: Session) -> int:
    """How many logs are being followed."""
    return session.scalar(select(func.count()).select_from(LogFollow).where(_LIVE)) or 0


def forget(session: Session, now: datetime) -> None:
    """Deletes the rows of logs that ended a day ago; their messages stay in Slack."""
    old = select(col(LogFollow.id)).where(col(LogFollow.ended_at) < now - _KEPT).limit(MOST_ROWS)
    ids = session.scalars(old).all()
    messages = delete(Message).where(
        col(Message.subject_kind) == FOLLOW, col(Message.subject_id).in_(ids)
    )
    session.connection().execute(messages)
    session.connection().execute(delete(LogFollow).where(col(LogFollow.id).in_(ids)))


def _of(session: Session, person: str, run: Run) -> LogFollow | None:
    mine = (col(LogFollow.person) == person, col(LogFollow.run_id) == run.id, _LIVE)
    return session.scalars(select(LogFollow).where(*mine)).first()
