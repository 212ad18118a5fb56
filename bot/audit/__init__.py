"""The audit log: one line per fact, in the same transaction, never changed, without secrets."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, insert, select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment, new_id
from bot.database.prepared import Prepared


class AuditLine(SQLModel, table=True):
    """One fact: `verb` as in the code (`run.submit`), `facts` as plain names and values."""

    __tablename__: ClassVar[Any] = "audit"

    id: str = Field(default_factory=new_id, primary_key=True)
    at: datetime = Field(sa_type=Moment, index=True)
    workspace_id: str
    person: str | None
    channel: str | None
    team: str | None
    verb: str
    subject_kind: str
    subject_id: str = Field(index=True)
    facts: dict[str, str] = Field(default_factory=dict, sa_type=JSON)


_RECORD = Prepared(insert(AuditLine))  # built once: building takes longer than running


@dataclass(frozen=True)
class Actor:
    """Who acts: a person in a channel, or the bot itself where `person` is None."""

    workspace_id: str
    person: str | None = None
    channel: str | None = None
    team: str | None = None


def record(
    session: Session,
    actor: Actor,
    verb: str,
    subject: tuple[str, str],
    facts: dict[str, str],
    *,
    at: datetime,
) -> None:
    """Writes one line about `subject` (kind, id)."""
    line = {
        "at": at,
        "workspace_id": actor.workspace_id,
        "person": actor.person,
        "channel": actor.channel,
        "team": actor.team,
        "verb": verb,
        "subject_kind": subject[0],
        "subject_id": subject[1],
        "facts": facts,
    }
    _RECORD(session, line)


def lines_about(session: Session, subject_id: str) -> list[AuditLine]:
    """The lines about a subject, oldest first."""
    return list(
        session.scalars(
            select(AuditLine)
            .where(col(AuditLine.subject_id) == subject_id)
            .order_by(col(AuditLine.id))
        )
    )
