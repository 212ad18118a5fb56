"""What watches saw, turned into due rows: gathered for a moment, written in one transaction."""

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

import structlog

from bot.clock import Clock
from bot.cluster.view import Change
from bot.database.database import Database, Session
from bot.due import wake
from bot.errors import DatabaseError

log = structlog.get_logger()

_GATHER_SECONDS = 0.1
_RETRY_SECONDS = 1.0


class Wakeup(NamedTuple):
    """A row to look at."""

    kind: str
    id: str
    lane: str


Ear = Callable[[Change], Iterable[Wakeup]]


class Wakeups:
    """Wakes the rows that changed objects belong to; what cannot be written yet is kept."""

    def __init__(self, database: Database, clock: Clock, ears: Iterable[Ear]) -> None:
        self._database = database
        self._clock = clock
        self._ears = tuple(ears)
        self._waiting: set[Wakeup] = set()
        self._writing: set[Wakeup] = set()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wakeups", daemon=True)

    def hear(self, change: Change) -> None:
        """Notes whom a change concerns, then gives way to people."""
        found = {wakeup for ear in self._ears for wakeup in ear(change)}
        if found:
            with self._changed:
                self._waiting |= found
                self._changed.notify_all()
        self._database.courtesy.give_way()

    def start(self) -> None:
        """Begins to write."""
        self._thread.start()

    def stop(self) -> None:
        """Writes no more; polling finds what was left."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(10)

    def is_quiet(self) -> bool:
        """Whether nothing waits to be written."""
        with self._changed:
            return not self._waiting and not self._writing

    def _run(self) -> None:
        while not self._stopping.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping.is_set())
                # Taken out before they are written: what changes meanwhile is written again.
                self._writing, self._waiting = self._waiting, set()
            if not self._write():
                self._stopping.wait(_RETRY_SECONDS)
            self._stopping.wait(_GATHER_SECONDS)

    def _write(self) -> bool:
        def work(session: Session) -> None:
            for each in sorted(self._writing):
                wake(session, each.kind, each.id, each.lane, self._clock.now())

        try:
            self._database.transaction(work)
        except DatabaseError as error:
            log.warning("wake-ups could not be written", error=error.message)
            with self._changed:
                self._waiting |= self._writing
            return False
        finally:
            with self._changed:
                self._writing = set()
        return True
