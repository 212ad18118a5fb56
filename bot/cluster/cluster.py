"""A Kubernetes cluster, as the rest of the bot sees it."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from bot.cluster import labels, resources
from bot.cluster.api.answers import decode, decode_page
from bot.cluster.api.client import Client
from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.following import NO_SOURCES, Following, Listener, Sources
from bot.cluster.api.logins.login import Login
from bot.cluster.api.watch import Pace, WatchState
from bot.cluster.resources import VISIBILITY, Resource
from bot.cluster.types.objects import ObjectPart
from bot.cluster.types.queues import PendingWorkload
from bot.errors import ClusterError
from bot.threads import EssentialThread

PENDING_PAGE = 1000
VISIBILITY_VERSIONS = ("v1beta2", "v1beta1")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SUBJECT_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

# What is watched in every cluster, and the label selector that chooses from it. Quota engines watch
# more.
EVERYWHERE: Mapping[Resource[Any], str] = {
    resources.JOBS: "",
    resources.PODS: labels.RUN,
    resources.HOLDERS: f"!{labels.RUN}",
    resources.NODES: "",
    resources.PVCS: "",
    resources.VOLUMES: "",
    resources.STORAGE_CLASSES: "",
    resources.SNAPSHOTS: "",
    resources.SNAPSHOT_CLASSES: "",
    resources.FOREIGN_SCHEDULES: "",
    resources.SNAPSHOT_ACTIONS: "",
    resources.ALLOWANCES: "",
}

Workloads = Mapping[Resource[Any], Callable[[Any], bool]]
_NONE: Workloads = MappingProxyType({})


class Verdict(ObjectPart, frozen=True, kw_only=True):
    """Whether something is allowed."""

    allowed: bool = False


class Review(ObjectPart, frozen=True, kw_only=True):
    """The answer to a SelfSubjectAccessReview."""

    status: Verdict = Verdict()


class UserInfo(ObjectPart, frozen=True, kw_only=True):
    """A user, as the API server knows it."""

    username: str = ""
    groups: tuple[str, ...] = ()


class Subject(ObjectPart, frozen=True, kw_only=True):
    """The status of a SelfSubjectReview."""

    user_info: UserInfo = UserInfo()


class SubjectReview(ObjectPart, frozen=True, kw_only=True):
    """The answer to a SelfSubjectReview."""

    status: Subject = Subject()


class Cluster(Client):
    """One cluster: live and consistent requests, and the view that its watches keep."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        installation: str,
        pace: Pace | None = None,
        watched: Mapping[Resource[Any], str] = EVERYWHERE,
        workloads: Workloads = _NONE,
    ) -> None:
        super().__init__(name, connection)
        self.installation = installation
        self.workloads = workloads
        """What a run can be there, and how such an object says that it has ended."""
        self._take(following(name, connection, watched, pace=pace))

    @classmethod
    def of(cls, begun: Following, installation: str, workloads: Workloads = _NONE) -> Self:
        """A cluster that is followed already; `workloads` are watched there from now on."""
        cluster = cls(begun.name, begun.connection, installation, watched={}, workloads=workloads)
        cluster._take(begun)
        return cluster

    def _take(self, known: Following) -> None:
        known.watch(self.workloads)
        self._following = known
        self._discovery = known.discovery
        self.view = known.view

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """What it cannot do without."""
        return self._following.threads

    def start(self) -> None:
        """Begins to watch unless that has begun; returns at once."""
        self._following.start()

    def stop(self) -> None:
        """Ends the watches; returns when they ended, after 3 s at the latest."""
        self._following.stop()

    def on_change(self, listener: Listener) -> None:
        """Has `listener` called, in a watch's thread, after the view took a change in.

        The first list of a resource is one "synced"; later lists tell how they differ first.
        Listeners are added before `start`, unless the cluster `of` a following has begun; they
        are quick: the watch waits for them.
        """
        self._following.on_change(listener)

    def refresh(self, resource: Resource[Any]) -> None:
        """Has what is read outside Kubernetes read again, because it was changed; at once."""
        self._following.refresh(resource)

    def watches(self) -> builtins.list[WatchState]:
        """How each watch is doing, for readiness and for people."""
        return self._following.watches()

    @property
    def trouble(self) -> str:
        """What goes wrong with watching, as the server or the connection says; empty if nothing."""
        return self._following.trouble

    def may(
        self,
        verb: str,
        group: str,
        plural: str,
        *,
        namespace: str | None = None,
        subresource: str = "",
        name: str = "",
    ) -> bool:
        """Whether the bot has a right in this cluster, in a namespace of it, or on one object."""
        attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
        attributes |= {"namespace": namespace} if namespace else {}
        attributes |= {"name": name} if name else {}
        doing = f"Asking cluster {self.name} whether the bot may {verb} {plural}"
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        request = Request(doing, "POST", REVIEWS, body=msgspec.json.encode(body))
        return decode(self._send(request).body, Review, doing).status.allowed

    @property
    def login(self) -> Login:
        """How the bot logs in; ClusterError if its credentials cannot be loaded."""
        return self._connection.login()

    def whoami(self) -> UserInfo:
        """Who the bot is to the API server; ClusterError with status 401 if it is not accepted."""
        doing = f"Asking cluster {self.name} who the bot is"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        request = Request(doing, "POST", SUBJECT_REVIEWS, body=msgspec.json.encode(body))
        return decode(self._send(request).body, SubjectReview, doing).status.user_info

    def pending_workloads(self, cluster_queue: str) -> builtins.list[PendingWorkload]:
        """What waits in a ClusterQueue, in order; "NotFound" where Kueue does not serve it."""
        doing = f"Reading what waits in ClusterQueue {cluster_queue} on cluster {self.name}"
        served = self.served(VISIBILITY)
        version = next((each for each in VISIBILITY_VERSIONS if each in served), None)
        if version is None:
            text = f"{doing}: its Kueue does not serve positions in the queue."
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


def following(
    name: str,
    connection: Connection,
    watched: Mapping[Resource[Any], str] = EVERYWHERE,
    unwatched: Sequence[Resource[Any]] = (),
    pace: Pace | None = None,
    sources: Sources = NO_SOURCES,
) -> Following:
    """What is watched of a cluster; nothing is until it is started.

    `unwatched` resources are empty in its view. `sources` are read outside Kubernetes.
    """
    return Following(name, connection, watched, unwatched, pace, sources)
