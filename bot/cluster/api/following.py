"""What is known of a cluster and followed in threads, also before the rest of the bot is there."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from bot.cluster.api.answers import meet
from bot.cluster.api.connection import Connection
from bot.cluster.api.credentials import prepare
from bot.cluster.api.discovery import Discovery
from bot.cluster.api.listing import Listing
from bot.cluster.api.watch import Pace, Watch, WatchState
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import Change, Kind, View
from bot.threads import EssentialThread

T = TypeVar("T", bound=ClusterObject)
Listener = Callable[[Change], None]

STOP_SECONDS = 3.0


class Following:
    """The view of one cluster, and the watches that keep it."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        watched: Mapping[Resource[Any], str],
        unwatched: Sequence[Resource[Any]] = (),
        pace: Pace | None = None,
    ) -> None:
        self.name = name
        self.connection = connection
        self.discovery = Discovery(connection, name)
        self.view = View(watched, unwatched=unwatched)
        self._watched = watched
        self._listeners: list[Listener] = []
        self._unheard: list[Change] | None = None
        self._lock = Lock()
        self._is_started = False
        self._pace = pace or Pace()
        self._watches = [self._watch(resource, label) for resource, label in watched.items()]

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """What it cannot do without."""
        return tuple(watch.thread for watch in self._watches)

    def watch(self, resources: Iterable[Resource[Any]]) -> None:
        """Watches all objects of these resources, too; those that are watched already stay so."""
        for resource in resources:
            if self.view.add(resource):
                watch = self._watch(resource, "")
                self._watches.append(watch)
                meet(resource.type)
                if self._is_started:
                    watch.start()

    def begin(self) -> None:
        """Begins to watch before anybody listens: the first listener is told of all there was.

        For the start, during which others import modules: what threads would import is imported
        here, and the classes of answers are looked into before two threads can meet them.
        """
        prepare()
        for resource in self._watched:
            meet(resource.type)
        self._unheard = []
        self.start()

    def start(self) -> None:
        """Begins to watch unless that has begun; returns at once."""
        if self._is_started:
            return
        self._is_started = True
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        """Ends the watches; returns when they ended, after 3 s at the latest."""
        for watch in self._watches:
            watch.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for watch in self._watches:
            watch.join(max(0.0, deadline - time.monotonic()))

    def on_change(self, listener: Listener) -> None:
        """Has `listener` called, in a watch's thread, after the view took a change in."""
        with self._lock:
            self._listeners.append(listener)
            unheard, self._unheard = self._unheard or [], None
        for change in unheard:
            listener(change)

    def watches(self) -> list[WatchState]:
        """How each watch is doing."""
        return [watch.state() for watch in self._watches]

    @property
    def trouble(self) -> str:
        """What goes wrong with watching, as the server or the connection says; empty if nothing."""
        return next((watch.trouble for watch in self._watches if watch.trouble), "")

    def _watch(self, resource: Resource[T], selector: str) -> Watch[T]:
        doing = f"Watching {resource.plural} on cluster {self.name}"
        return Watch(
            self.connection,
            self.discovery,
            Listing(resource, doing, None, selector),
            self.view.store(resource),
            partial(self._announce, resource),
            self._pace,
        )

    def _announce(self, resource: Resource[Any], kind: Kind, object_: ClusterObject | None) -> None:
        change = Change(self.name, resource, kind, object_)
        with self._lock:
            listeners = tuple(self._listeners)
            if self._unheard is not None:
                self._unheard.append(change)
        for listener in listeners:
            listener(change)
