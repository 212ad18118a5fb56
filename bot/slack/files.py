"""Files in Slack or to be uploaded: pictures of charts, and answers sent as files."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment


class MessageFile(SQLModel, table=True):
    """One picture of one message; `name` identifies its content."""

    __tablename__: ClassVar[Any] = "message_files"

    message_id: str = Field(primary_key=True, foreign_key="messages.id")
    name: str = Field(primary_key=True)
    file_id: str
    uploaded_at: datetime = Field(sa_type=Moment)


class MessageDocument(SQLModel, table=True):
    """The file of one message; `file_id` is set once its bytes are uploaded, before it is shared.

    `refused` says why it cannot be brought; the message then says that instead. Who asked did so in
    `asked_in`, within a thread or not. The row goes once people have it; `created_at` is real time.
    """

    __tablename__: ClassVar[Any] = "message_documents"

    message_id: str = Field(primary_key=True, foreign_key="messages.id")
    name: str
    title: str
    content: bytes
    asked_in: str
    asked_thread: str | None = None
    file_id: str | None = None
    refused: str | None = None
    created_at: datetime = Field(sa_type=Moment)


@dataclass(frozen=True)
class Attached:
    """A message's file without its bytes."""

    name: str
    title: str
    asked_in: str
    asked_thread: str | None
    file_id: str | None
    refused: str | None


def files_of(session: Session, message_id: str) -> dict[str, str]:
    """The ids of the message's pictures, by name."""
    rows = session.scalars(
        select(MessageFile).where(col(MessageFile.message_id) == message_id)
    ).all()
    return {row.name: row.file_id for row in rows}


def keep(session: Session, message_id: str, name: str, file_id: str, now: datetime) -> None:
    """Records a picture; if two processes uploaded it, the first one counts."""
    if session.get(MessageFile, (message_id, name)) is None:
        session.add(MessageFile(message_id=message_id, name=name, file_id=file_id, uploaded_at=now))
