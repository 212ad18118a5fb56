"""What is known of a cluster and followed in threads, also before the rest of the bot is there."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

from bot.cluster.api.answers import meet
from bot.cluster.api.connection import Connection
from bot.cluster.api.credentials import prepare
from bot.cluster.api.discovery import Discovery
from bot.cluster.api.listing import Listing
from bot.cluster.api.polling import Poll
from bot.cluster.api.watch import Pace, Watch, WatchState
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import Change, Kind, View
from bot.threads import EssentialThread

T = TypeVar("T", bound=ClusterObject)
Listener = Callable[[Change], None]
Sources = Mapping[Resource[Any], Callable[[], Sequence[Any]]]
"""What is read outside Kubernetes, and how: all objects at once, or OutsideError."""

NO_SOURCES: Sources = MappingProxyType({})

STOP_SECONDS = 3.0


class Following:
    """The view of one cluster, and the watches that keep it.

    `sources` are read regularly; they belong to a service that manages the cluster from outside.
    """

    def __init__(
        self,
        name: str,
        connection: Connection,
        watched: Mapping[Resource[Any], str],
        unwatched: Sequence[Resource[Any]] = (),
        pace: Pace | None = None,
        sources: Sources = NO_SOURCES,
    ) -> None:
        self.name = name
        self.connection = connection
        self.discovery = Discovery(connection, name)
        self.view = View((*watched, *sources), unwatched=unwatched)
        self._watched = watched
        self._listeners: list[Listener] = []
        self._unheard: list[Change] | None = None
        self._lock = Lock()
        self._is_started = False
        self._pace = pace or Pace()
        self._watches = [self._watch(resource, label) for resource, label in watched.items()]
        self._polls = {resource: self._poll(resource, read) for resource, read in sources.items()}

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """What it cannot do without."""
        return tuple(each.thread for each in self._all)

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
        for each in self._all:
            each.start()

    def stop(self) -> None:
        """Ends the watches; returns when they ended, after 3 s at the latest."""
        for each in self._all:
            each.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for each in self._all:
            each.join(max(0.0, deadline - time.monotonic()))

    def refresh(self, resource: Resource[Any]) -> None:
        """Has a source read again at once; returns at once."""
        if resource in self._polls:
            self._polls[resource].wake()

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
        return next((each.trouble for each in self._all if each.trouble), "")

    @property
    def _all(self) -> Sequence[Watch[Any] | Poll[Any]]:
        return (*self._watches, *self._polls.values())

    def _poll(self, resource: Resource[T], read: Callable[[], Sequence[T]]) -> Poll[T]:
        name, announce = f"{self.name}-{resource.plural}", partial(self._announce, resource)
        return Poll(name, read, self.view.store(resource), announce)

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
