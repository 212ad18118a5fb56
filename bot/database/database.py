"""Transactions and consistent reads of the database."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event, Lock
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlmodel import Session

from bot.database import failures
from bot.database.connection import BUSY_MILLISECONDS, engines
from bot.database.group_commit import GroupCommit, Topics
from bot.database.prepared import session_on
from bot.database.priority import ForegroundGate
from bot.database.topics import TOPICS
from bot.threads import EssentialThread

__all__ = ["Database", "Session"]

T = TypeVar("T")
Work = Callable[[Session], T]

PATIENCE_SECONDS = 20.0
ACKNOWLEDGE_SECONDS = 2.5
_COMMITS_BETWEEN_CHECKPOINTS = 50
_AWAY_SECONDS = 0.05
_SHORT_TIMEOUTS = (
    f"SET LOCAL statement_timeout={BUSY_MILLISECONDS};SET LOCAL lock_timeout={BUSY_MILLISECONDS}"
)


class Database:
    """A database as the bot uses it: serializable writes, consistent reads.

    On SQLite one thread runs all writes of the process and commits those that wait together. On
    PostgreSQL each runs in the thread of its caller, requests of people one after the other, and
    beside them those of the background: of serializable transactions at once all but one are
    repeated, as they read and write the same small tables.

    `on_commit` listeners learn which topics (`due`, `messages`) a committed transaction touched.
    `gate` is how work in the background yields to requests of people.
    """

    def __init__(self, url: str, gate: ForegroundGate | None = None) -> None:
        self.gate = gate or ForegroundGate()
        self._write, self._read = engines(url)
        self.is_sqlite = self._write.dialect.name == "sqlite"
        self._writer = GroupCommit(self._write, self._committed)
        self._request_turn, self._background_turn = Lock(), Lock()
        self._away = Event()  # is never set: a server that restarts is tried in intervals
        self._commits = 0
        self._listeners: list[Callable[[Topics], None]] = []

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The threads without which nothing is written."""
        return self._writer.threads

    def start(self) -> None:
        """Starts the thread that writes to SQLite, as the first transaction does."""
        if self.is_sqlite:
            self._writer.start()

    def stop(self) -> None:
        """Commits what is queued."""
        self._writer.stop()

    def transaction(
        self,
        work: Work[T],
        *,
        deadline: float | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> T:
        """What `work` returns, once it is committed; repeated when another writer was first.

        `deadline` is a `time.monotonic()` moment after which nothing is committed any more;
        it makes this an acknowledgement path with short lock time-outs, to which work without
        one yields. Such work is also repeated when PostgreSQL is lost meanwhile, even at the
        commit, so it must recognise what it has recorded. Without one, `patience_seconds` is how
        long it may take. DatabaseError when the deadline passes or the database fails; then nothing
        was written unless the error says otherwise.
        """
        is_urgent = deadline is not None
        if not is_urgent:
            self.gate.yield_to_foreground()
        limit = deadline if deadline is not None else time.monotonic() + patience_seconds
        run = self._writer.run if self.is_sqlite else self._repeated
        result = run(work, limit, is_urgent=is_urgent)
        if not is_urgent and self._commits >= _COMMITS_BETWEEN_CHECKPOINTS:
            self._checkpoint()
        return result

    def read(self, work: Work[T]) -> T:
        """What `work` returns from one consistent view of the database; it must not write.

        It is run once more if the connection to PostgreSQL is lost meanwhile.
        """
        try:
            return self._look(work)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise failures.failed(error) from error
        except SQLAlchemyError as error:
            raise failures.failed(error) from error
        try:
            return self._look(work)
        except SQLAlchemyError as error:
            raise failures.failed(error) from error

    def _look(self, work: Work[T]) -> T:
        with self._read.connect() as connection, session_on(connection) as session:
            return work(session)

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
        """Commits what is queued, and gives every connection back."""
        self.stop()
        self._write.dispose()
        self._read.dispose()

    def _repeated(self, work: Work[T], limit: float, *, is_urgent: bool) -> T:
        doubt: DBAPIError | None = None
        while True:
            try:
                return self._attempt(work, limit, is_urgent=is_urgent, doubt=doubt)
            except DBAPIError as error:
                doubt = error if failures.is_doubtful(error) else doubt
                is_conflict = failures.is_conflict(error)
                is_lost = is_urgent and failures.is_unreachable(error)
                if not (is_conflict or is_lost):
                    raise failures.failed(doubt or error) from error
                if time.monotonic() >= limit:
                    told = failures.failed(doubt or error)
                    raise (failures.busy() if is_conflict and not doubt else told) from error
                if is_lost:
                    self._away.wait(_AWAY_SECONDS)
            except PoolTimeoutError as error:
                raise (failures.failed(doubt) if doubt else failures.busy()) from error

    def _attempt(
        self, work: Work[T], limit: float, *, is_urgent: bool, doubt: DBAPIError | None
    ) -> T:
        turn = self._request_turn if is_urgent else self._background_turn
        if not turn.acquire(timeout=max(0.0, limit - time.monotonic())):
            raise failures.failed(doubt) if doubt else failures.busy()
        try:
            with self._write.connect() as connection, session_on(connection) as session:
                with connection.begin():
                    if is_urgent:
                        connection.exec_driver_sql(_SHORT_TIMEOUTS)
                    result = work(session)
                    session.flush()
                    if time.monotonic() >= limit:
                        raise failures.failed(doubt) if doubt else failures.late()
                topics = frozenset(session.info.get(TOPICS, ()))
        finally:
            turn.release()
        self._committed(topics)
        return result

    def _committed(self, topics: Topics) -> None:
        self._commits += 1
        for listener in self._listeners if topics else ():
            listener(topics)

    def _checkpoint(self) -> None:
        """Copies SQLite's log back beside the writer, whose commits would wait for it otherwise."""
        self._commits = 0
        if self.is_sqlite:
            # What is committed stays so; the writer does it in the end where this cannot.
            with suppress(SQLAlchemyError), self._read.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
