"""Who needs what, why and until when: what is held is not evicted, deleted or moved."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import delete, or_, select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment
from bot.database.forgetting import forget_some

# What is called the same in more than one area.
RUN, SNAPSHOT = "run", "snapshot"


class Hold(SQLModel, table=True):
    """One subject (a run) needs one thing (a cache, a snapshot); until None: until released."""

    __tablename__: ClassVar[Any] = "holds"

    thing_kind: str = Field(primary_key=True)
    thing_id: str = Field(primary_key=True)
    subject_kind: str = Field(primary_key=True)
    subject_id: str = Field(primary_key=True, index=True)
    why: str
    until: datetime | None = Field(default=None, sa_type=Moment)


def take(session: Session, hold: Hold) -> None:
    """Holds a thing for a subject; a hold it has already is renewed."""
    session.merge(hold)


def release(session: Session, subject_kind: str, subject_id: str) -> None:
    """Lets go of everything the subject held."""
    session.connection().execute(
        delete(Hold).where(
            col(Hold.subject_kind) == subject_kind, col(Hold.subject_id) == subject_id
        )
    )


def forget(session: Session, before: datetime) -> None:
    """Removes holds that ended before a moment and that nobody released."""
    forget_some(session, Hold, col(Hold.until) < before)


def let_go(session: Session, thing: tuple[str, str], subject: tuple[str, str]) -> bool:
    """Ends one hold; a thing and a subject are kind and id. False where there is none."""
    hold = session.get(Hold, (*thing, *subject))
    if hold is None:
        return False
    session.delete(hold)
    session.flush()
    return True


def on(session: Session, thing_kind: str, thing_id: str, now: datetime) -> list[Hold]:
    """The holds on a thing that count now."""
    return list(
        session.scalars(
            select(Hold).where(
                col(Hold.thing_kind) == thing_kind,
                col(Hold.thing_id) == thing_id,
                or_(col(Hold.until).is_(None), col(Hold.until) > now),
            )
        )
    )
