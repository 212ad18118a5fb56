"""Keeps a store in sync with the cluster: lists once, then watches changes."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Generic, TypeVar

import structlog

from bot.cluster.api.answers import Bookmark, OverloadedError, WatchEvent, decode, refusal
from bot.cluster.api.connection import Connection, Stream
from bot.cluster.api.discovery import Discovery
from bot.cluster.api.listing import Listing, read_all
from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import Kind, Store
from bot.errors import ClusterError
from bot.threads import EssentialThread

T = TypeVar("T", bound=ClusterObject)
Announce = Callable[[Kind, ClusterObject | None], None]

log = structlog.get_logger()

_TOLD_AT = 2
_SLACK_SECONDS = 120.0
_RANDOM = secrets.SystemRandom()
# The place in the stream is not the cause of these, so they do not cost it.
_KEEPS_PLACE = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True)
class Pace:
    """The intervals and time-outs of a watch, in seconds.

    The server ends a watch after `turn`, and says something about once a minute; `silence`, which
    is longer, is when we give up on it.
    """

    turn: int = 240
    silence: float = 300.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    absent_pause: float = 60.0
    failures_before_relist: int = 5


@dataclass(frozen=True)
class WatchState:
    """The state of one watch, for status pages."""

    resource: str
    served: bool
    synced: bool
    age_seconds: float
    error: str


class Watch(Generic[T]):
    """A thread that follows one resource."""

    def __init__(
        self,
        connection: Connection,
        discovery: Discovery,
        listing: Listing[T],
        store: Store[T],
        announce: Announce,
        pace: Pace,
    ) -> None:
        self._connection = connection
        self._discovery = discovery
        self._listing = listing
        self._store = store
        self._announce = announce
        self._pace = pace
        self._position = ""
        self._failures = 0
        self._error = ""
        self._stream: Stream | None = None
        limit_seconds = pace.turn + pace.silence + _SLACK_SECONDS
        resource = listing.resource
        parts = ("watch", discovery.cluster, resource.plural, resource.purpose)
        name = "-".join(part for part in parts if part)
        self._thread = EssentialThread(name, self._pass, limit_seconds=limit_seconds)
        self._stopping = self._thread.stopping

    def start(self) -> None:
        """Begins to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Asks the watch to stop at once; `join` waits for that."""
        self._stopping.set()
        if self._stream is not None:
            self._stream.cut()

    def join(self, seconds: float) -> None:
        """Waits until it ended, or as long; one that was never started has ended."""
        self._thread.join(seconds)

    @property
    def thread(self) -> EssentialThread:
        """The thread of the watch."""
        return self._thread

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._thread.is_alive

    @property
    def trouble(self) -> str:
        """What goes wrong with what the cluster serves; empty if nothing."""
        return "" if self._store.absent else self._error

    def state(self) -> WatchState:
        """The state of the watch."""
        return WatchState(
            resource=self._listing.resource.name,
            served=not self._store.absent,
            synced=self._store.synced,
            age_seconds=self._store.age_seconds,
            error=self._error,
        )

    def _pass(self) -> None:
        try:
            self._turn()
            pause = self._backoff()
        except ClusterError as error:
            pause = self._failed(error)
        except Exception:
            # A new start does not mend a bad listener, so this counts as a pass; readiness tells.
            log.exception("watch_broke", resource=self._listing.resource.plural)
            self._error = "Something went wrong on our side; see the log."
            self._failures += 1
            pause = self._backoff()
        self._stopping.wait(pause)

    def _turn(self) -> None:
        version = self._discovery.version(self._listing.resource)
        if not self._position:
            self._read(version)
        query: dict[str, str | int] = {
            "watch": "1",
            "resourceVersion": self._position,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": self._pace.turn,
        }
        request = self._listing.request(version, query)
        began = time.monotonic()
        with self._connection.stream(request, self._pace.silence) as stream:
            self._follow(stream)
        # A server that ends its watches at once must not be asked in a circle.
        lasted = time.monotonic() - began > self._pace.longest_pause
        self._failures = 0 if lasted else self._failures + 1

    def _read(self, version: str) -> None:
        objects, position = read_all(self._connection, self._listing, version)
        first = not self._store.synced
        differences = self._store.replace(objects)
        self._position = position
        self._alive()
        for kind, object_ in () if first else differences:
            self._announce(kind, object_)
        self._announce("synced", None)

    def _follow(self, stream: Stream) -> None:
        self._stream = stream
        try:
            if self._stopping.is_set():
                return
            self._store.prove()
            self._error = ""
            for line in stream.lines():
                self._take(decode(line, WatchEvent, self._listing.doing))
        finally:
            self._stream = None

    def _take(self, event: WatchEvent) -> None:
        doing = self._listing.doing
        if event.type == "ERROR":
            raise refusal(doing, 0, bytes(event.object))
        if event.type == "BOOKMARK":
            position = decode(event.object, Bookmark, doing).metadata.resource_version
        else:
            object_ = decode(event.object, self._listing.resource.type, doing)
            self._apply(event.type, object_)
            position = object_.metadata.resource_version
        self._position = position
        self._alive()

    def _apply(self, type_: str, object_: T) -> None:
        deleted = type_ == "DELETED"
        kind = self._store.remove(object_) if deleted else self._store.put(object_)
        if kind is not None:
            self._announce(kind, object_)

    def _alive(self) -> None:
        self._thread.beat()
        self._store.prove()
        self._store.absent = False
        self._failures = 0
        self._error = ""

    def _failed(self, error: ClusterError) -> float:
        """Notes the failure; seconds to wait before the next turn."""
        if self._stopping.is_set():
            return 0.0
        self._failures += 1
        self._report(error)
        if not _keeps_place(error) or self._failures >= self._pace.failures_before_relist:
            self._position = ""
        if error.reason == "NotServed":
            self._discovery.forget()
            self._store.absent = True
            return self._pace.absent_pause
        wait = error.retry_after_seconds if isinstance(error, OverloadedError) else 0
        return max(self._backoff(), wait)

    def _report(self, error: ClusterError) -> None:
        """Logs new failures, as warnings once they repeat; never for a kind that is not served."""
        is_news = self._failures == _TOLD_AT or error.message != self._error
        if is_news and error.reason != "NotServed":
            tell = log.info if self._failures < _TOLD_AT else log.warning
            tell("watch_failed", error=error.message, reason=error.reason)
        self._error = error.message

    def _backoff(self) -> float:
        """Full jitter, so that watches that broke together do not return together."""
        if not self._failures:
            return 0.0
        longest = self._pace.first_pause * 2.0 ** min(self._failures - 1, 16)
        return _RANDOM.uniform(0.0, min(longest, self._pace.longest_pause))


def _keeps_place(error: ClusterError) -> bool:
    if error.status is None:
        return error.reason in {"Timeout", "Unreachable", "Credentials"}
    return error.status in _KEEPS_PLACE or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
