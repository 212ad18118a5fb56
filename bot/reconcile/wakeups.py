"""What watches saw, turned into due rows: gathered for a moment, then written together."""

import secrets
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple

import structlog

from bot.clock import Clock
from bot.cluster.view import Change
from bot.database.database import Database, Session
from bot.errors import DatabaseError
from bot.reconcile.due import wake
from bot.threads import EssentialThread

log = structlog.get_logger()

_GATHER_SECONDS = 0.1
# A watch that begins anew may find all runs changed; others write between two transactions.
_MOST_AT_ONCE = 100
_RETRY_SECONDS = 1.0
_IDLE_SECONDS = 5.0


class Wakeup(NamedTuple):
    """A row to look at."""

    kind: str
    id: str
    lane: str


def cluster_lane(name: str) -> str:
    """The lane of rows whose steps depend on that cluster."""
    return f"cluster:{name}"


WatchHandler = Callable[[Change], Iterable[Wakeup]]


class Wakeups:
    """Wakes the rows that changed objects belong to; what cannot be written yet is kept."""

    def __init__(self, database: Database, clock: Clock, handlers: Iterable[WatchHandler]) -> None:
        self._database = database
        self._clock = clock
        self._handlers = tuple(handlers)
        self._waiting: set[Wakeup] = set()
        self._writing: set[Wakeup] = set()
        self._changed = threading.Condition()
        self._thread = EssentialThread("wakeups", self._pass)

    def on_change(self, change: Change) -> None:
        """Notes whom a change concerns, then gives way to people."""
        found = {wakeup for handler in self._handlers for wakeup in _wakeups_of(handler, change)}
        if found:
            with self._changed:
                self._waiting |= found
                self._changed.notify_all()
        self._database.gate.yield_to_foreground()

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """What it cannot do without."""
        return (self._thread,)

    def start(self) -> None:
        """Begins to write."""
        self._thread.start()

    def stop(self) -> None:
        """Writes no more; polling finds what was left."""
        self._thread.stop()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(10)

    def is_quiet(self) -> bool:
        """Whether nothing waits to be written."""
        with self._changed:
            return not self._waiting and not self._writing

    def _pass(self) -> None:
        stopping = self._thread.stopping
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or stopping.is_set(), _IDLE_SECONDS)
            # Taken out before they are written: what changes meanwhile is written again.
            self._writing, self._waiting = self._waiting, set()
        if not self._writing:
            return
        try:
            self._write()
        except DatabaseError as error:
            log.warning("wake-ups could not be written", error=error.message)
            stopping.wait(_RETRY_SECONDS)
        stopping.wait(_GATHER_SECONDS)

    def _write(self) -> None:
        """Writes them; those that could not be written wait again, whatever went wrong."""
        unwritten = sorted(self._writing)
        try:
            while unwritten:
                self._database.transaction(partial(self._wake, unwritten[:_MOST_AT_ONCE]))
                unwritten = unwritten[_MOST_AT_ONCE:]
        finally:
            with self._changed:
                self._waiting.update(unwritten)
                self._writing = set()

    def _wake(self, some: Iterable[Wakeup], session: Session) -> None:
        now = self._clock.now()
        for each in some:
            wake(session, each.kind, each.id, each.lane, now)


def _wakeups_of(handler: WatchHandler, change: Change) -> Collection[Wakeup]:
    """The rows to wake for a change; none if the handler fails, since polling finds them."""
    try:
        return tuple(handler(change))
    except Exception:
        reference = secrets.token_hex(3)
        log.exception(
            "a watch handler failed unexpectedly",
            resource=change.resource.plural,
            reference=reference,
        )
        return ()
