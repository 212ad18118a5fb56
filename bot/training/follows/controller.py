"""Keeps followed logs in direct messages as current as Slack allows."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.database.database import Database
from bot.errors import NotFoundError
from bot.people.access import Access
from bot.reconcile.controller import Step, Trouble
from bot.slack.filing import LONGEST_CODE
from bot.slack.messages import CARD, Message, find, refresh_cards
from bot.training.follows.card import FORBIDDEN
from bot.training.follows.service import live_count
from bot.training.logs.reads import LogReads, LogRequest, LogTail
from bot.training.tables import FOLLOW, LogFollow, Run

INTERVAL = timedelta(seconds=5)
"""How often all of them together are brought up to date: what is left of Slack's 50 edits a minute
beside those of cards."""

STOPPED = "You stopped following it."
LASTED = "The 10 minutes are over."
ENDED = "The run has ended."
UNSHOWN = "Its message could not be shown."


@dataclass(frozen=True)
class _FollowRows:
    """What the rows say before a read; `why` is why following ends with it, if it does."""

    row: LogFollow
    run: Run
    live: int
    why: str


class LogFollowController:
    """Updates the messages of followed logs."""

    kind = FOLLOW

    def __init__(self, database: Database, clock: Clock, access: Access, logs: LogReads) -> None:
        self._database = database
        self._clock = clock
        self._access = access
        self._logs = logs

    def step(self, row_id: str) -> Step:
        """Reads the log once more, for the last time if it is no longer followed."""
        now = self._clock.now()
        known = self._database.read(lambda session: self._known(session, row_id, now))
        if known is None:
            return Step(None)
        tail = None if known.why in {FORBIDDEN, UNSHOWN} else self._read(known)
        again = None if known.why else now + INTERVAL * max(1, known.live)
        return Step(again, lambda session: _save(session, known, tail, now))

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows in the message that the log could not be read."""
        row = session.get(LogFollow, row_id)
        if row is not None and row.ended_at is None and row.trouble != trouble.sentence:
            row.trouble = trouble.sentence
            refresh_cards(session, row.subject, live=True)

    def _known(self, session: Session, row_id: str, now: datetime) -> _FollowRows | None:
        row = session.get(LogFollow, row_id)
        if row is None or row.ended_at is not None:
            return None
        run = session.get_one(Run, row.run_id)
        return _FollowRows(row, run, live_count(session), self._why(session, row, run, now))

    def _why(self, session: Session, row: LogFollow, run: Run, now: datetime) -> str:
        """Why it is no longer followed, empty while it is."""
        if not self._access.may_read(session, row.person, row.team):
            return FORBIDDEN
        if row.stop_at is not None:
            return STOPPED
        if not run.is_live:
            return ENDED
        shown = find(session, row.subject, CARD, row.person)
        if shown and session.get_one(Message, shown).is_dead:
            return UNSHOWN
        return LASTED if now >= row.until else ""

    def _read(self, known: _FollowRows) -> LogTail:
        row = known.row
        try:
            return self._logs.of_run(known.run, LogRequest(row.lines, row.pod))
        except NotFoundError as error:
            return LogTail(None, trouble=f"{error.message} {error.hint}")


def _save(session: Session, known: _FollowRows, tail: LogTail | None, now: datetime) -> None:
    row = session.get(LogFollow, known.row.id)
    if row is None or row.ended_at is not None:
        return
    before = _seen(row)
    if tail is not None:
        row.shown_pod, row.shown = tail.pod or "", _fitting(tail.lines)
        row.kept_at, row.trouble = tail.kept_at, tail.trouble
    if known.why == FORBIDDEN:
        row.shown, row.trouble = [], ""
    if known.why and not _goes_on(row, known.why, now):
        row.ended_at, row.reason = now, known.why
    session.add(row)
    if _seen(row) != before:
        refresh_cards(session, row.subject, live=row.ended_at is None)


def _goes_on(row: LogFollow, why: str, now: datetime) -> bool:
    """Whether the log was requested again in the meantime."""
    return (why == LASTED and row.until > now) or (why == STOPPED and row.stop_at is None)


def _fitting(lines: Sequence[str]) -> list[str]:
    """The last lines that fit in a message; of a single long line its end."""
    fitting: deque[str] = deque()
    room = LONGEST_CODE
    for line in reversed(lines):
        fitting.appendleft(line[-room:] if room == LONGEST_CODE else line)
        room -= len(line) + 1
        if room <= 0:
            break
    return list(fitting)


def _seen(row: LogFollow) -> tuple[object, ...]:
    return row.shown_pod, row.shown, row.kept_at, row.trouble, row.ended_at
