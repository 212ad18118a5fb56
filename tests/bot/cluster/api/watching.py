"""A running watch, and an API server that answers its lists and streams as a test writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any

from bot.cluster.api.connection import Connection
from bot.cluster.api.discovery import Discovery
from bot.cluster.api.listing import Listing
from bot.cluster.api.watch import Pace, Watch
from bot.cluster.resources import JOBS, Resource
from bot.cluster.view import Store
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS, ApiServer, Asked, Reply, Wire

PATH = "/apis/batch/v1/jobs"
FAST = Pace(
    turn=60,
    silence=2 * PATIENCE_SECONDS,
    first_pause=0.01,
    longest_pause=0.05,
    absent_pause=0.02,
    failures_before_relist=4,
)


class Notes:
    """What a watch announced."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.breaks_on = ""
        self._changed = Condition()

    def __call__(self, kind: str, object_: Any) -> None:
        with self._changed:
            self.heard.append((kind, object_.name if object_ else ""))
            self._changed.notify_all()
        if kind == self.breaks_on:
            raise LookupError("a broken listener")

    def wait_for(self, *expected: tuple[str, str]) -> None:
        with self._changed:
            done = self._changed.wait_for(
                lambda: len(self.heard) >= len(expected), PATIENCE_SECONDS
            )
        assert self.heard == list(expected)
        assert done


class Watched:
    """A running watch and what it fills."""

    def __init__(
        self, connection: Connection, resource: Resource[Any] = JOBS, pace: Pace = FAST
    ) -> None:
        self.notes = Notes()
        self.store: Store[Any] = Store()
        self.watch = Watch(
            connection,
            Discovery(connection, "default"),
            Listing(resource, "Watching jobs"),
            self.store,
            self.notes,
            pace,
        )

    def names(self) -> list[str]:
        return sorted(each.name for each in self.store.all(None))


@contextmanager
def watching(
    connection: Connection,
    resource: Resource[Any] = JOBS,
    pace: Pace = FAST,
    breaks_on: str = "",
) -> Iterator[Watched]:
    watched = Watched(connection, resource, pace)
    watched.notes.breaks_on = breaks_on
    watched.watch.start()
    try:
        yield watched
    finally:
        watched.watch.stop()
        watched.watch.join(PATIENCE_SECONDS)
        assert not watched.watch.running


def jobs(server: ApiServer, lists: list[Reply], watches: list[Reply]) -> None:
    """Answers lists and watches of the same path apart; the last of each stays."""

    def reply(asked: Asked, wire: Wire) -> None:
        replies = watches if "watch" in asked.query else lists
        with server.changed:
            chosen = replies.pop(0) if len(replies) > 1 else replies[0]
        chosen(asked, wire)

    server.on("GET", PATH, reply)


def events(*lines: tuple[str, object] | bytes, then: str = "hold") -> Reply:
    """A watch that says these lines, then holds, ends or cuts."""

    def reply(_: Asked, wire: Wire) -> None:
        wire.begin()
        for line in lines:
            if isinstance(line, bytes):
                wire.line(line)
            else:
                wire.line({"type": line[0], "object": line[1]})
        getattr(wire, then)()

    return reply


def bookmark(version: str) -> tuple[str, object]:
    return "BOOKMARK", {"metadata": {"resourceVersion": version}}


def positions(server: ApiServer) -> list[str]:
    return [each.query["resourceVersion"] for each in server.requests(PATH, watch="1")]


def lists_of(server: ApiServer) -> int:
    return server.count(PATH) - server.count(PATH, watch="1")
