"""What the clusters have of any installation of Quartermaster; nothing is changed there."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.cluster import labels
from bot.cluster.api.client import Client
from bot.cluster.api.connection import Connection
from bot.cluster.resources import JOBS, PVCS, SNAPSHOTS, Resource
from bot.cluster.types.objects import ClusterObject
from bot.config import Settings
from bot.errors import ClusterError
from bot.quotas.engines.quota import (
    ANNOTATION,
    QuotaAnnotation,
    QuotaField,
    notes_of,
    read_notes,
)
from bot.quotas.engines.registry import ENGINES
from bot.training.adoption.runs import FoundRoot
from bot.training.kinds import ROOTS


@dataclass(frozen=True)
class RaisedQuota:
    """A quota that an override changes, by the annotation of its queue."""

    cluster: str
    kind: str
    place: QuotaField
    note: QuotaAnnotation


@dataclass(frozen=True)
class ClusterContent:
    """What one cluster has: roots of runs, other labelled objects, and its queues.

    Without `keeps_notes` its queues have no annotations, so that no change is known.
    """

    name: str
    roots: Sequence[FoundRoot]
    others: Sequence[tuple[str, ClusterObject]]
    queues: Sequence[ClusterObject]
    queue_kind: str
    keeps_notes: bool


@dataclass(frozen=True)
class Content:
    """What all clusters have."""

    clusters: Sequence[ClusterContent]

    def installations(self) -> Counter[str]:
        """The installations, with the number of their objects and annotated queues."""
        found: Counter[str] = Counter()
        for cluster in self.clusters:
            found.update(_writer(each.root.object) for each in cluster.roots)
            found.update(_writer(each) for _, each in cluster.others)
            found.update(name for each in cluster.queues if (name := read_notes(each)[0]))
        return found

    def roots(self, installation: str) -> Iterator[FoundRoot]:
        """The roots of runs of one installation, the oldest run first."""
        found = (each for cluster in self.clusters for each in cluster.roots)
        ours = [each for each in found if _is_of(each.root.object, installation)]
        yield from sorted(ours, key=lambda each: each.root.object.labels[labels.RUN])

    def others(self, installation: str) -> Iterator[tuple[str, str, ClusterObject]]:
        """The cluster and the kind of each other object of one installation, and the object."""
        for cluster in self.clusters:
            for kind, each in cluster.others:
                if _is_of(each, installation):
                    yield cluster.name, kind, each

    def quotas(self, installation: str) -> Iterator[RaisedQuota]:
        """The quotas that overrides of one installation change."""
        for cluster in self.clusters:
            for queue in cluster.queues:
                for place, note in notes_of(queue, installation):
                    yield RaisedQuota(cluster.name, cluster.queue_kind, place, note)

    def unreadable(self) -> Iterator[str]:
        """The queues whose annotation cannot be read, so that no quota of theirs is set back."""
        for cluster in self.clusters:
            for queue in cluster.queues:
                if ANNOTATION in queue.metadata.annotations and not read_notes(queue)[0]:
                    yield f"{cluster.queue_kind} {queue.name} on {cluster.name}"


def clients(settings: Settings) -> Mapping[str, Client]:
    """How the clusters of the settings are asked."""
    return {
        name: Client(name, Connection.to(at.kubeconfig, at.context))
        for name, at in settings.clusters.items()
    }


def read(settings: Settings, asked: Mapping[str, Client]) -> Content:
    """What the clusters have; ClusterError if one of them cannot be read completely."""
    return Content(
        tuple(_content(client, settings.clusters[name].engine) for name, client in asked.items())
    )


def _content(client: Client, engine: str) -> ClusterContent:
    kind = ENGINES[engine]
    roots = [
        FoundRoot(client.name, type_, type_.read(each))
        for type_ in ROOTS
        for each in _listed(client, type_.resource, f"{labels.INSTALLATION},{labels.RUN}")
    ]
    others = [
        (resource.kind, each)
        for resource in (JOBS, PVCS, SNAPSHOTS)
        for each in _listed(client, resource, labels.INSTALLATION)
        if resource is not JOBS or labels.RUN not in each.labels
    ]
    noted = None if kind.queues in kind.polled else kind.queues
    return ClusterContent(
        name=client.name,
        roots=roots,
        others=others,
        queues=() if noted is None else _listed(client, noted, ""),
        queue_kind=kind.queues.kind if kind.queues else "",
        keeps_notes=noted is not None or kind.queues is None,
    )


def _listed(client: Client, resource: Resource[Any], selector: str) -> Sequence[Any]:
    try:
        return client.list(resource, labels=selector)
    except ClusterError as error:
        if error.reason == "NotServed":
            return ()
        raise


def _writer(each: ClusterObject) -> str:
    return each.labels[labels.INSTALLATION]


def _is_of(each: ClusterObject, installation: str) -> bool:
    return each.labels.get(labels.INSTALLATION) == installation
