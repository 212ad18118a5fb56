"""Transactions and consistent reads of the database."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlmodel import Session

from bot.database.connection import BUSY_MILLISECONDS, engines
from bot.database.prepared import session_on
from bot.database.savepoints import done_each
from bot.database.topics import TOPICS
from bot.errors import DatabaseError
from bot.tried import captured
from bot.turns import ForegroundGate, PriorityLock

__all__ = ["Database", "Session"]

log = structlog.get_logger()

T = TypeVar("T")
Work = Callable[[Session], T]

PATIENCE_SECONDS = 20.0
ACKNOWLEDGE_SECONDS = 2.5
_COMMITS_BETWEEN_CHECKPOINTS = 50
_LOCK_SECONDS = BUSY_MILLISECONDS / 1000
_CONFLICTS = {"40001", "40P01"}
_HURRY = (
    f"SET LOCAL statement_timeout={BUSY_MILLISECONDS};SET LOCAL lock_timeout={BUSY_MILLISECONDS}"
)
_NOTHING_DONE = "Nothing was done. Try again in a moment."


class Database:
    """A database as the bot uses it: serializable writes, consistent reads.

    On SQLite the writers of one process queue on one lock, which is far quicker than letting
    them meet in the file. `on_commit` listeners learn which topics (`due`, `messages`) a
    committed transaction touched. `courtesy` is how work in the background gives way to people.
    """

    def __init__(self, url: str, courtesy: ForegroundGate | None = None) -> None:
        self.courtesy = courtesy or ForegroundGate()
        self._write, self._read = engines(url)
        self.is_sqlite = self._write.dialect.name == "sqlite"
        self._turns = PriorityLock()
        self._commits = 0
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    def transaction(self, work: Work[T], *, deadline: float | None = None) -> T:
        """What `work` returns, once it is committed; repeated when another writer was first.

        `deadline` is a `time.monotonic()` moment after which nothing is committed any more;
        it makes this an acknowledgement path with short lock time-outs, to which work without
        one gives way. DatabaseError when it passes or the database fails; then nothing was
        written unless the error says otherwise.
        """
        if deadline is None:
            self.courtesy.yield_to_foreground()
        limit = deadline if deadline is not None else time.monotonic() + PATIENCE_SECONDS
        result = self._repeated(work, limit, hurried=deadline is not None)
        if deadline is None and self._commits >= _COMMITS_BETWEEN_CHECKPOINTS:
            self._checkpoint()
        return result

    def together(self, works: Sequence[tuple[Work[T], float]]) -> "list[Future[T]]":
        """The outcome of each work, in order; with SQLite their writes share one commit.

        Each comes with its deadline, as in `transaction`. One sees what those before it wrote,
        and what it wrote itself is undone when it raises. Where they cannot be committed at
        once, each has a transaction of its own. All futures are done.
        """
        if len(works) > 1 and self.is_sqlite:
            done = partial(done_each, works=[work for work, _ in works])
            limit = min(limit for _, limit in works)
            at_once = captured(partial(self.transaction, done, deadline=limit))
            if at_once.exception() is None:
                return at_once.result()
            log.warning(
                "commands are committed one by one", kind=type(at_once.exception()).__name__
            )
        return [
            captured(partial(self.transaction, work, deadline=deadline)) for work, deadline in works
        ]

    def read(self, work: Work[T]) -> T:
        """What `work` returns from one consistent view of the database; it must not write."""
        try:
            with self._read.connect() as connection, session_on(connection) as session:
                return work(session)
        except SQLAlchemyError as error:
            raise _failed(error) from error

    def real_now(self, session: Session) -> datetime:
        """The database's own time, for leases; a playground never shifts it."""
        if self.is_sqlite:
            return datetime.now(UTC)
        moment: datetime = session.connection().scalar(text("SELECT clock_timestamp()"))
        return moment

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Calls `listener` with the topics of each transaction after its commit."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Gives every connection back."""
        self._write.dispose()
        self._read.dispose()

    def _repeated(self, work: Work[T], limit: float, *, hurried: bool) -> T:
        while True:
            try:
                return self._attempt(work, limit, hurried=hurried)
            except DBAPIError as error:
                if not _is_conflict(error):
                    raise _failed(error) from error
                if time.monotonic() >= limit:
                    raise DatabaseError("The database was too busy.", _NOTHING_DONE) from error
            except PoolTimeoutError as error:
                raise DatabaseError("The database was too busy.", _NOTHING_DONE) from error

    def _attempt(self, work: Work[T], limit: float, *, hurried: bool) -> T:
        with (
            self._turn(limit, hurried=hurried),
            self._write.connect() as connection,
            session_on(connection) as session,
        ):
            with connection.begin():
                if hurried and not self.is_sqlite:
                    connection.exec_driver_sql(_HURRY)
                result = work(session)
                session.flush()
                if time.monotonic() >= limit:
                    raise DatabaseError("This took too long.", _NOTHING_DONE)
            self._commits += 1
            topics = frozenset(session.info.get(TOPICS, ()))
        for listener in self._listeners if topics else ():
            listener(topics)
        return result

    def _checkpoint(self) -> None:
        """Copies SQLite's log back beside the writer, whose commits would wait for it otherwise."""
        self._commits = 0
        if self.is_sqlite:
            # What is committed stays so; the writer does it in the end where this cannot.
            with suppress(SQLAlchemyError), self._read.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def _turn(self, limit: float, *, hurried: bool) -> Iterator[None]:
        if not self.is_sqlite:
            yield
            return
        patience = max(0.0, limit - time.monotonic())
        if not self._turns.take(
            min(patience, _LOCK_SECONDS) if hurried else patience, hurried=hurried
        ):
            raise DatabaseError("The database was too busy.", _NOTHING_DONE)
        try:
            yield
        finally:
            self._turns.give_back()


def _is_conflict(error: DBAPIError) -> bool:
    if getattr(error.orig, "sqlstate", None) in _CONFLICTS:
        return True
    return "database is locked" in str(error.orig)


def _failed(error: SQLAlchemyError) -> DatabaseError:
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return DatabaseError(
            "The database connection was lost.",
            "It is unknown whether this was recorded. Check before you repeat it.",
        )
    return DatabaseError(f"The database failed ({type(error).__name__}).", _NOTHING_DONE)
