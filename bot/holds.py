"""Holds on caches, snapshots and the like: a held thing is not evicted, deleted or moved."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import delete, or_, select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment
from bot.database.forgetting import forget_some

# Kinds that more than one area uses.
RUN, SNAPSHOT = "run", "snapshot"


class Hold(SQLModel, table=True):
    """One subject (a run) needs one thing (a cache, a snapshot), until a time or until released."""

    __tablename__: ClassVar[Any] = "holds"

    thing_kind: str = Field(primary_key=True)
    thing_id: str = Field(primary_key=True)
    subject_kind: str = Field(primary_key=True)
    subject_id: str = Field(primary_key=True, index=True)
    why: str
    until: datetime | None = Field(default=None, sa_type=Moment)


def take(session: Session, hold: Hold) -> None:
    """Adds a hold, or renews the one that the subject already has."""
    session.merge(hold)


def release(session: Session, subject_kind: str, subject_id: str) -> None:
    """Releases all holds of a subject."""
    session.connection().execute(
        delete(Hold).where(
            col(Hold.subject_kind) == subject_kind, col(Hold.subject_id) == subject_id
        )
    )


def forget(session: Session, before: datetime) -> None:
    """Deletes holds that ended before a moment without being released."""
    forget_some(session, Hold, col(Hold.until) < before)


def let_go(session: Session, thing: tuple[str, str], subject: tuple[str, str]) -> bool:
    """Releases one hold; thing and subject are (kind, id). Returns False if there is none."""
    hold = session.get(Hold, (*thing, *subject))
    if hold is None:
        return False
    session.delete(hold)
    session.flush()
    return True


def held(session: Session, thing_kind: str, now: datetime) -> set[str]:
    """The ids of the things of a kind with holds that are in force now."""
    in_force = or_(col(Hold.until).is_(None), col(Hold.until) > now)
    return set(
        session.scalars(
            select(col(Hold.thing_id)).where(col(Hold.thing_kind) == thing_kind, in_force)
        )
    )


def on(session: Session, thing_kind: str, thing_id: str, now: datetime) -> list[Hold]:
    """The holds on a thing that are in force now."""
    return list(
        session.scalars(
            select(Hold).where(
                col(Hold.thing_kind) == thing_kind,
                col(Hold.thing_id) == thing_id,
                or_(col(Hold.until).is_(None), col(Hold.until) > now),
            )
        )
    )
