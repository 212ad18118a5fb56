"""Pictures that Slack has of the charts of a message, so that none is uploaded again."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment


class MessageFile(SQLModel, table=True):
    """One picture of one message; `name` stands for what it shows."""

    __tablename__: ClassVar[Any] = "message_files"

    message_id: str = Field(primary_key=True, foreign_key="messages.id")
    name: str = Field(primary_key=True)
    file_id: str
    uploaded_at: datetime = Field(sa_type=Moment)


def files_of(session: Session, message_id: str) -> dict[str, str]:
    """The ids of the message's pictures, by name."""
    rows = session.scalars(
        select(MessageFile).where(col(MessageFile.message_id) == message_id)
    ).all()
    return {row.name: row.file_id for row in rows}


def keep(session: Session, message_id: str, name: str, file_id: str, now: datetime) -> None:
    """Notes a picture; the first one counts where two processes uploaded it."""
    if session.get(MessageFile, (message_id, name)) is None:
        session.add(MessageFile(message_id=message_id, name=name, file_id=file_id, uploaded_at=now))
