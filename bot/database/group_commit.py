"""The writer of a SQLite file: one thread that runs all transactions and commits them in groups."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session

from bot.database import failures
from bot.database.connection import BUSY_MILLISECONDS
from bot.database.prepared import session_on
from bot.database.topics import TOPICS
from bot.threads import EssentialThread

log = structlog.get_logger()

T = TypeVar("T")
Topics = frozenset[str]

# One commit for eight: about 800 submissions a second, where one for each allowed 462.
_MOST_TOGETHER = 8
_LOCK_SECONDS = BUSY_MILLISECONDS / 1000
_IDLE_SECONDS = 5.0


@dataclass(eq=False)
class _Transaction:
    """Work to commit before `limit` (monotonic), and the outcome that its caller waits for."""

    work: Callable[[Session], Any]
    limit: float
    is_urgent: bool
    outcome: "Future[Any]" = field(default_factory=Future)


@dataclass(frozen=True)
class _Attempt:
    """What came of a transaction's work, before the commit."""

    result: Any = None
    error: BaseException | None = None
    topics: Topics = frozenset()


class GroupCommit:
    """Runs transactions one after the other; urgent ones that wait together share a commit.

    Each has a savepoint of its own: it sees what those before it wrote, and if it raises, only its
    own writes are undone. If they cannot be committed together, each is run again alone. After
    eight urgent transactions comes one of the others.

    `committed` is called with the topics of a commit, before its callers go on.
    """

    def __init__(self, engine: Engine, committed: Callable[[Topics], None]) -> None:
        self._engine = engine
        self._committed = committed
        self._changed = threading.Condition()
        self._urgent: deque[_Transaction] = deque()
        self._others: deque[_Transaction] = deque()
        self._urgent_in_a_row = 0
        self._closing = False
        self._thread: EssentialThread | None = None

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The writer, once it is started."""
        return (self._thread,) if self._thread is not None else ()

    def run(self, work: Callable[[Session], T], limit: float, *, is_urgent: bool) -> T:
        """What `work` returns, once it is committed; DatabaseError if it is not before `limit`."""
        queued = _Transaction(work, limit, is_urgent)
        self._queue(queued)
        patience = max(0.0, limit - time.monotonic())
        self._await(queued.outcome, min(patience, _LOCK_SECONDS) if is_urgent else patience)
        if queued.outcome.cancel():  # it has not begun
            if not self._lives():
                raise failures.abandoned(is_begun=False)
            raise failures.busy() if patience else failures.late()
        self._await(queued.outcome)
        if not queued.outcome.done():
            raise failures.abandoned(is_begun=True)
        result: T = queued.outcome.result()
        return result

    def start(self) -> None:
        """Starts the writer, as the first transaction does."""
        with self._changed:
            if self._thread is None:
                self._closing = False
                self._thread = EssentialThread("writer", self._pass)
                self._thread.start()

    def stop(self) -> None:
        """Ends the writer once everything queued is committed."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        for thread in self.threads:
            thread.join()
        self._thread = None

    def _await(self, outcome: "Future[Any]", seconds: float = math.inf) -> None:
        """Returns once there is an outcome, after `seconds`, or when the writer has ended."""
        end = time.monotonic() + seconds
        while not outcome.done() and self._lives() and (left := end - time.monotonic()) > 0:
            with suppress(TimeoutError):
                outcome.exception(min(left, _LOCK_SECONDS))

    def _lives(self) -> bool:
        return any(thread.is_alive for thread in self.threads)

    def _queue(self, queued: _Transaction) -> None:
        if self._thread is None:
            self.start()
        with self._changed:
            (self._urgent if queued.is_urgent else self._others).append(queued)
            self._changed.notify()

    def _pass(self) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._urgent or self._others or self._closing, _IDLE_SECONDS
            )
            group = self._next()
        if begun := [each for each in group if _begins(each)]:
            self._commit(begun)
        return bool(group) or not self._closing

    def _next(self) -> list[_Transaction]:
        is_turn_of_others = self._others and self._urgent_in_a_row >= _MOST_TOGETHER
        if self._urgent and not is_turn_of_others:
            group = [self._urgent.popleft() for _ in range(min(len(self._urgent), _MOST_TOGETHER))]
            self._urgent_in_a_row += len(group)
            return group
        self._urgent_in_a_row = 0
        return [self._others.popleft()] if self._others else []

    def _commit(self, group: Sequence[_Transaction]) -> None:
        try:
            attempts = self._attempt(group)
        except Exception as error:  # noqa: BLE001  # raised again where the outcome is read
            if len(group) == 1:
                self._failed(group[0], error)
                return
            log.warning("transactions are committed one by one", kind=type(error).__name__)
            for each in group:
                self._commit([each])
            return
        try:
            self._committed(frozenset().union(*(attempt.topics for attempt in attempts)))
        finally:
            for each, attempt in zip(group, attempts, strict=True):
                _settle(each.outcome, attempt)

    def _attempt(self, group: Sequence[_Transaction]) -> list[_Attempt]:
        with self._engine.connect() as connection, connection.begin():
            attempts = [_in_savepoint(connection, each.work) for each in group]
            if any(time.monotonic() >= each.limit for each in group):
                raise failures.late()
        return attempts

    def _failed(self, one: _Transaction, error: Exception) -> None:
        """Queues it again if another process was first and there is time, else tells its caller."""
        is_conflict = failures.is_conflict(error)
        if is_conflict and time.monotonic() < one.limit:
            with self._changed:
                (self._urgent if one.is_urgent else self._others).appendleft(one)
            return
        told: Exception = error
        if isinstance(error, SQLAlchemyError):
            told = failures.busy() if is_conflict else failures.failed(error)
            told.__cause__ = error
        one.outcome.set_exception(told)


def _in_savepoint(connection: Connection, work: Callable[[Session], Any]) -> _Attempt:
    """SQLAlchemyError when the database failed, which may have ended the whole transaction."""
    connection.exec_driver_sql("SAVEPOINT work")
    with session_on(connection) as session:
        try:
            result = work(session)
            session.flush()
            attempt = _Attempt(result, topics=frozenset(session.info.get(TOPICS, ())))
        except SQLAlchemyError:
            raise
        except BaseException as error:  # noqa: BLE001  # raised again where the outcome is read
            attempt = _Attempt(error=error)
            connection.exec_driver_sql("ROLLBACK TO work")
    connection.exec_driver_sql("RELEASE work")
    return attempt


def _begins(queued: _Transaction) -> bool:
    """Whether its caller still waits for it, from now on until it has an outcome."""
    return queued.outcome.running() or queued.outcome.set_running_or_notify_cancel()


def _settle(outcome: "Future[Any]", attempt: _Attempt) -> None:
    if attempt.error is not None:
        outcome.set_exception(attempt.error)
    else:
        outcome.set_result(attempt.result)
