"""Keeps a store in sync with a service that cannot be watched: reads all of it regularly."""

from collections.abc import Callable, Sequence
from threading import Event
from typing import Generic, TypeVar

import structlog

from bot.cluster.api.watch import Announce
from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import Store
from bot.errors import OutsideError
from bot.threads import EssentialThread

T = TypeVar("T", bound=ClusterObject)

log = structlog.get_logger()

INTERVAL_SECONDS = 20.0
_LONGEST_READ_SECONDS = 300.0


class Poll(Generic[T]):
    """A thread that reads all objects of one kind every `interval_seconds`.

    An object has changed if its `resourceVersion` has. While `read` fails, the store keeps what it
    had, and its age grows.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Sequence[T]],
        store: Store[T],
        announce: Announce,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._name = name
        self._read = read
        self._store = store
        self._announce = announce
        self._interval = interval_seconds
        self.trouble = ""
        """What the last read failed with; empty if it did not."""
        limit = interval_seconds + _LONGEST_READ_SECONDS
        self.thread = EssentialThread(f"poll-{name}", self._pass, limit_seconds=limit)
        self._wanted = Event()

    def start(self) -> None:
        """Begins to read."""
        self.thread.start()

    def stop(self) -> None:
        """Reads no more after the read under way."""
        self.thread.stop()
        self._wanted.set()

    def wake(self) -> None:
        """Has it read again at once, because something has been changed."""
        self._wanted.set()

    def join(self, seconds: float) -> None:
        """Waits until it has ended, or as long."""
        self.thread.join(seconds)

    def refresh(self) -> None:
        """Reads once: OutsideError if that fails."""
        objects = self._read()
        first = not self._store.synced
        differences = self._store.replace(objects)
        self._store.prove()
        for kind, object_ in () if first else differences:
            self._announce(kind, object_)
        if first:
            self._announce("synced", None)

    def _pass(self) -> None:
        self._wanted.clear()
        if self.thread.stopping.is_set():
            return
        try:
            self.refresh()
            self.trouble = ""
        except OutsideError as error:
            if error.message != self.trouble:
                log.warning("poll_failed", resource=self._name, error=error.message)
            self.trouble = error.message
        self._wanted.wait(self._interval)
