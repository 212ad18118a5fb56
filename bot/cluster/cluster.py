"""A Kubernetes cluster, as the rest of the bot sees it."""

import builtins
import time
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from bot.cluster import labels, resources
from bot.cluster.answers import decode, decode_page
from bot.cluster.client import Client
from bot.cluster.connection import Connection, Request
from bot.cluster.listing import Listing
from bot.cluster.objects import ClusterObject, Part
from bot.cluster.queues import PendingWorkload
from bot.cluster.resources import VISIBILITY, Resource
from bot.cluster.view import Change, Kind, View
from bot.cluster.watch import Pace, Watch, WatchState
from bot.errors import ClusterError

T = TypeVar("T", bound=ClusterObject)

STOP_SECONDS = 3.0
PENDING_PAGE = 1000
VISIBILITY_VERSIONS = ("v1beta2", "v1beta1")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

# What is watched in every cluster, and the label selector that chooses from it.
_EVERYWHERE: Mapping[Resource[Any], str] = {
    **dict.fromkeys(resources.ROOTS, ""),
    resources.PODS: labels.RUN,
    resources.NODES: "",
    resources.PVCS: "",
    resources.VOLUMES: "",
    resources.STORAGE_CLASSES: "",
    resources.ALLOWANCES: "",
}
_OF_KUEUE: tuple[Resource[Any], ...] = (
    resources.WORKLOADS,
    resources.CLUSTER_QUEUES,
    resources.LOCAL_QUEUES,
    resources.COHORTS,
    resources.RESOURCE_FLAVORS,
    resources.PRIORITY_CLASSES,
)
_OF_KAI: tuple[Resource[Any], ...] = (
    resources.POD_GROUPS,
    resources.KAI_QUEUES,
    resources.SYSTEM_PRIORITIES,
)
WATCHED: Mapping[Resource[Any], str] = {**_EVERYWHERE, **dict.fromkeys(_OF_KUEUE, "")}
WATCHED_WITH_KAI: Mapping[Resource[Any], str] = {**_EVERYWHERE, **dict.fromkeys(_OF_KAI, "")}


class Verdict(Part, frozen=True, kw_only=True):
    """Whether something is allowed."""

    allowed: bool = False


class Review(Part, frozen=True, kw_only=True):
    """The answer to a SelfSubjectAccessReview."""

    status: Verdict = Verdict()


class Cluster(Client):
    """One cluster: live and consistent requests, and the view that its watches keep."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        installation: str,
        pace: Pace | None = None,
        watched: Mapping[Resource[Any], str] = WATCHED,
    ) -> None:
        super().__init__(name, connection)
        self.installation = installation
        known = {**WATCHED, **WATCHED_WITH_KAI}
        self.view = View(watched, unwatched=[each for each in known if each not in watched])
        self._watched = watched
        self._listeners: builtins.list[Callable[[Change], None]] = []
        self._watches = [self._watch(resource, pace or Pace()) for resource in watched]

    def start(self) -> None:
        """Begins to watch; returns at once."""
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        """Ends the watches; returns when they ended, after 3 s at the latest."""
        for watch in self._watches:
            watch.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for watch in self._watches:
            watch.join(max(0.0, deadline - time.monotonic()))

    def on_change(self, listener: Callable[[Change], None]) -> None:
        """Has `listener` called, in a watch's thread, after the view took a change in.

        The first list of a resource is one "synced"; later lists tell how they differ first.
        Listeners are added before `start` and are quick: the watch waits for them.
        """
        self._listeners.append(listener)

    def watches(self) -> builtins.list[WatchState]:
        """How each watch is doing, for readiness and for people."""
        return [watch.state() for watch in self._watches]

    @property
    def trouble(self) -> str:
        """What goes wrong with watching, as the server or the connection says; empty if nothing."""
        states = (watch.state() for watch in self._watches)
        return next((each.error for each in states if each.served and each.error), "")

    def may(
        self,
        verb: str,
        group: str,
        plural: str,
        *,
        namespace: str | None = None,
        subresource: str = "",
    ) -> bool:
        """Whether the bot has a right in this cluster, or in one namespace of it."""
        attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
        if namespace:
            attributes["namespace"] = namespace
        doing = f"Asking cluster {self.name} whether the bot may {verb} {plural}"
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        request = Request(doing, "POST", REVIEWS, body=msgspec.json.encode(body))
        return decode(self._send(request).body, Review, doing).status.allowed

    def pending_workloads(self, cluster_queue: str) -> builtins.list[PendingWorkload]:
        """What waits in a ClusterQueue, in order; "NotFound" where Kueue does not serve it."""
        doing = f"Reading what waits in ClusterQueue {cluster_queue} on cluster {self.name}"
        served = self.served(VISIBILITY)
        version = next((each for each in VISIBILITY_VERSIONS if each in served), None)
        if version is None:
            text = f"{doing}: its Kueue does not serve places in the queue."
            raise ClusterError(text, status=HTTPStatus.NOT_FOUND, reason="NotFound")
        name = quote(cluster_queue, safe="")
        path = f"/apis/{VISIBILITY}/{version}/clusterqueues/{name}/pendingworkloads"
        found: builtins.list[PendingWorkload] = []
        while True:
            query = {"limit": PENDING_PAGE, "offset": len(found)}
            answer = self._send(Request(doing, "GET", path, query))
            page = decode_page(answer.body, PendingWorkload, doing).items or ()
            found.extend(page)
            if len(page) < PENDING_PAGE:
                return found

    def _watch(self, resource: Resource[T], pace: Pace) -> Watch[T]:
        return Watch(
            self._connection,
            self._discovery,
            Listing(
                resource,
                f"Watching {resource.plural} on cluster {self.name}",
                None,
                self._watched[resource],
            ),
            self.view.store(resource),
            partial(self._announce, resource),
            pace,
        )

    def _announce(self, resource: Resource[Any], kind: Kind, object_: ClusterObject | None) -> None:
        change = Change(self.name, resource, kind, object_)
        for listener in self._listeners:
            listener(change)
