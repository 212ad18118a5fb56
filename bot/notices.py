"""Notices to people about their runs, and how each person wants to get them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import select
from sqlmodel import Field, Session, SQLModel, col

from bot.audit import Actor, record
from bot.database.columns import Moment
from bot.people.access import Caller
from bot.slack.markup import join, person
from bot.slack.messages import Subject, ThreadMessage, post_once

SUBJECT = "notices"
CHOOSE = "notices.choose"


class NoticeKind(StrEnum):
    """What a notice is about."""

    STARTED = "started"
    TIME = "time"
    PREEMPTED = "preempted"
    IDLE = "idle"
    FAILED = "failed"
    ENDED = "ended"


_KINDS = frozenset(NoticeKind)


class Way(StrEnum):
    """How a person is notified: by a mention in the card's thread, a direct message, or not."""

    THREAD = "thread"
    DM = "dm"
    NONE = "none"


class NoticeChoice(SQLModel, table=True):
    """How a person wants notices of one kind; without a row, by a mention."""

    __tablename__: ClassVar[Any] = "notice_choices"

    workspace_id: str = Field(primary_key=True)
    person: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    way: str
    chosen_at: datetime = Field(sa_type=Moment)


@dataclass(frozen=True)
class Notice:
    """A notice to a person; the text of `note` does not mention them."""

    kind: NoticeKind
    person: str
    note: ThreadMessage


def tell(session: Session, subject: Subject, channel: str, notice: Notice, now: datetime) -> bool:
    """Posts it once in the thread of the card, and notifies the person as they chose.

    The thread has it in any case, so that other readers see the same. False if it was posted
    before.
    """
    way = _ways(session, subject.workspace_id, notice.person).get(notice.kind, Way.THREAD)
    note = notice.note
    if way is Way.THREAD:
        first, *others = note.lines
        note = replace(note, lines=(join(person(notice.person), " ", first), *others))
    is_new = post_once(session, subject, channel, note, now)
    if is_new and way is Way.DM:
        direct = replace(note, to=notice.person, broadcast=False)
        post_once(session, subject, channel, direct, now)
    return is_new


def ways_of(session: Session, caller: Caller) -> dict[NoticeKind, Way]:
    """How the caller is notified of each kind."""
    chosen = _ways(session, caller.workspace_id, caller.person)
    return {kind: chosen.get(kind, Way.THREAD) for kind in NoticeKind}


def ways_of_people(
    session: Session, workspace_id: str, people: Collection[str]
) -> dict[str, dict[NoticeKind, Way]]:
    """How each of these people is notified of each kind."""
    found = {who: dict.fromkeys(NoticeKind, Way.THREAD) for who in people}
    rows = session.scalars(
        select(NoticeChoice).where(
            col(NoticeChoice.workspace_id) == workspace_id, col(NoticeChoice.person).in_(people)
        )
    )
    for row in rows:
        if row.kind in _KINDS:
            found[row.person][NoticeKind(row.kind)] = Way(row.way)
    return found


def choose(
    session: Session, caller: Caller, way: Way, kinds: Iterable[NoticeKind], now: datetime
) -> None:
    """Sets how the caller is notified of these kinds from now on."""
    chosen = tuple(kinds)
    for kind in chosen:
        row = NoticeChoice(
            workspace_id=caller.workspace_id,
            person=caller.person,
            kind=kind,
            way=way,
            chosen_at=now,
        )
        session.merge(row)
    actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
    facts = {"way": way.value, "kinds": " ".join(chosen)}
    record(session, actor, "notices.choose", (SUBJECT, caller.person), facts, at=now)


def _ways(session: Session, workspace_id: str, who: str) -> dict[NoticeKind, Way]:
    rows = session.scalars(
        select(NoticeChoice).where(
            col(NoticeChoice.workspace_id) == workspace_id, col(NoticeChoice.person) == who
        )
    )
    return {NoticeKind(row.kind): Way(row.way) for row in rows if row.kind in _KINDS}
