"""Several pieces of work in one transaction, each of which may fail on its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session

from bot.database.prepared import Prepared, connection_of, session_on
from bot.database.topics import TOPICS, touch
from bot.tried import captured

T = TypeVar("T")
Work = Callable[[Session], T]

_BEGIN, _UNDO, _END = (
    Prepared(text(f"{verb} work")) for verb in ("SAVEPOINT", "ROLLBACK TO", "RELEASE")
)


def done_each(session: Session, works: Sequence[Work[T]]) -> "list[Future[T]]":
    """The outcome of each, in order; the writes of one that raises are undone.

    SQLAlchemyError when the database failed, which may have ended the transaction and with it all
    that was done so far, as SQLite does when its disk is full.
    """
    return [_done(session, work) for work in works]


def _done(session: Session, work: Work[T]) -> "Future[T]":
    future = captured(partial(_in_savepoint, session, work))
    error = future.exception()
    # When the transaction has ended, its savepoint has too, and giving it back fails like this.
    if isinstance(error, SQLAlchemyError):
        raise error
    return future


def _in_savepoint(session: Session, work: Work[T]) -> T:
    _BEGIN(session, {})
    with session_on(connection_of(session)) as own:
        try:
            result = work(own)
            own.flush()
        except BaseException:
            _UNDO(session, {})
            raise
        finally:
            _END(session, {})
    for topic in own.info.get(TOPICS, ()):
        touch(session, topic)
    return result
