"""Files that people asked for, kept until Slack has them."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select, update
from sqlmodel import Session, col

from bot.database.forgetting import MOST_ROWS
from bot.slack.files import Attached, MessageDocument
from bot.slack.messages import Message, Subject, ThreadMessage, find, post_once

DOCUMENT = "document"
MOST_BYTES = 10_000_000
"""The largest file: it is held in memory while it is uploaded to Slack."""

UNSURE = "Slack did not confirm that it is shown. If you do not see it, request it again."
"""Why a file that may have been delivered is not sent again: there are never two."""

_TRIED_FOR = timedelta(days=1)
_TOO_LATE = "Slack could not be reached for a day."
_SHOWN = (
    col(MessageDocument.name),
    col(MessageDocument.title),
    col(MessageDocument.asked_in),
    col(MessageDocument.asked_thread),
    col(MessageDocument.file_id),
    col(MessageDocument.refused),
)


def bring(
    session: Session,
    subject: Subject,
    note: ThreadMessage,
    document: MessageDocument,
    now: datetime,
) -> None:
    """Sends a person the file once, by direct message; `note` is the text above it."""
    person = note.to or ""
    if post_once(session, subject, person, note, now):
        document.message_id = find(session, subject, note.purpose, person) or ""
        session.add(document)


def attached_to(session: Session, message: Message) -> Attached | None:
    """The file of the message, if it has one that is not delivered yet."""
    if message.purpose != DOCUMENT:
        return None
    its = select(*_SHOWN).where(col(MessageDocument.message_id) == message.id)
    found = session.connection().execute(its).one_or_none()
    return Attached(*found) if found is not None else None


def content_of(session: Session, message_id: str) -> bytes:
    """The content of a message's file."""
    return session.get_one(MessageDocument, message_id).content


def change(session: Session, message_id: str, values: Mapping[str, object]) -> None:
    """Changes the file of a message without reading its bytes."""
    its = update(MessageDocument).where(col(MessageDocument.message_id) == message_id)
    session.connection().execute(its.values(**values))


def drop(session: Session, message_id: str) -> None:
    """Deletes the file."""
    _delete(session, (message_id,))


def forget(session: Session, real_now: datetime) -> None:
    """Deletes bytes after a day, and files that were delivered or never will be."""
    late = col(MessageDocument.created_at) < real_now - _TRIED_FOR
    session.connection().execute(
        update(MessageDocument)
        .where(late, col(MessageDocument.refused).is_(None))
        .values(content=b"", file_id=None, refused=_TOO_LATE)
    )
    done = or_(col(Message.wants) <= col(Message.shown), col(Message.is_dead).is_(True))
    chosen = (
        select(col(MessageDocument.message_id))
        .join(Message, col(Message.id) == col(MessageDocument.message_id))
        .where(done)
        .limit(MOST_ROWS)
    )
    _delete(session, session.scalars(chosen).all())


def _delete(session: Session, ids: Collection[str]) -> None:
    table = delete(MessageDocument).where(col(MessageDocument.message_id).in_(ids))
    session.connection().execute(table)
