"""What the clusters have of any installation of Quartermaster; nothing is changed there."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event
from typing import Any

from bot.cluster import labels
from bot.cluster.api.answers import OverloadedError
from bot.cluster.api.client import Client
from bot.cluster.api.connection import Connection
from bot.cluster.resources import JOBS, PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS, Resource
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.objects import ClusterObject
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.config import Settings
from bot.datasets.caches.adoption.caches import FoundCache
from bot.errors import ClusterError
from bot.quotas.engines.definition import EngineDefinition
from bot.quotas.engines.quota import (
    ANNOTATION,
    QuotaAnnotation,
    QuotaField,
    notes_of,
    read_notes,
)
from bot.quotas.engines.registry import ENGINES
from bot.snapshots.adoption.snapshots import FoundSnapshot
from bot.teams.adoption.teams import FoundTeam, key_of
from bot.teams.objects import known_resource
from bot.teams.stores import is_in_service
from bot.training.adoption.runs import FoundRoot
from bot.training.kinds import ROOTS

_TRIES, _LONGEST_PAUSE_SECONDS = 20, 5
_LATER = datetime.max.replace(tzinfo=UTC)
_REFUSED = {"Forbidden", "NotServed", "Unreadable"}


@dataclass(frozen=True)
class RaisedQuota:
    """A quota that an override changes, by the annotation of its queue."""

    cluster: str
    kind: str
    place: QuotaField
    note: QuotaAnnotation


@dataclass(frozen=True)
class ClusterContent:
    """What one cluster has: what may be adopted, other labelled objects, and its queues.

    Without `keeps_notes` its queues have no annotations, so that no change is known.
    """

    name: str
    teams: Sequence[FoundTeam]
    roots: Sequence[FoundRoot]
    caches: Sequence[FoundCache]
    snapshots: Sequence[FoundSnapshot]
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
            found.update(map(_writer, _objects(cluster)))
            found.update(name for each in cluster.queues if (name := read_notes(each)[0]))
        return found

    def roots(self, installation: str) -> Iterator[FoundRoot]:
        """The roots of runs of one installation, the oldest run first."""
        found = (each for cluster in self.clusters for each in cluster.roots)
        ours = [each for each in found if _is_of(each.root.object, installation)]
        yield from sorted(ours, key=lambda each: each.root.object.labels[labels.RUN])

    def teams(self, installation: str) -> Iterator[FoundTeam]:
        """The teams of one installation."""
        found = (each for cluster in self.clusters for each in cluster.teams)
        yield from (each for each in found if each.installation == installation)

    def caches(self, installation: str) -> Iterator[FoundCache]:
        """The caches of one installation, those of the oldest dataset first."""
        found = (each for cluster in self.clusters for each in cluster.caches)
        ours = [each for each in found if _is_of(each.object, installation)]
        yield from sorted(ours, key=lambda each: (each.dataset_id, each.object.name))

    def snapshots(self, installation: str) -> Iterator[FoundSnapshot]:
        """The snapshots of one installation, the oldest first, since copies are later."""
        found = (each for cluster in self.clusters for each in cluster.snapshots)
        ours = [each for each in found if _is_of(each.object, installation)]
        yield from sorted(ours, key=lambda each: each.object.metadata.creation_timestamp or _LATER)

    def last_sign(self, installation: str) -> datetime | None:
        """When the newest object of one installation was created; None without any."""
        objects = (each for cluster in self.clusters for each in _objects(cluster))
        ours = (each for each in objects if _is_of(each, installation))
        made = (each.metadata.creation_timestamp for each in ours)
        return max((each for each in made if each is not None), default=None)

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
    jobs = [
        (JOBS.kind, each)
        for each in _listed(client, JOBS, labels.INSTALLATION)
        if labels.RUN not in each.labels
    ]
    claims = _listed(client, PVCS, "")
    ours = [each for each in claims if labels.INSTALLATION in each.labels]
    taken = _listed(client, SNAPSHOTS, labels.INSTALLATION)
    noted = None if kind.queues in kind.polled else kind.queues
    return ClusterContent(
        name=client.name,
        teams=list(_teams(client, kind)),
        roots=roots,
        caches=[FoundCache(client.name, each) for each in ours if _is_cache(each)],
        snapshots=list(_snapshots(client, taken, claims)),
        others=[
            *jobs,
            *((PVCS.kind, each) for each in ours if not _is_cache(each)),
            *((SNAPSHOTS.kind, each) for each in taken if labels.SNAPSHOT not in each.labels),
        ],
        queues=() if noted is None else _listed(client, noted, ""),
        queue_kind=kind.queues.kind if kind.queues else "",
        keeps_notes=noted is not None or kind.queues is None,
    )


def _snapshots(
    client: Client, taken: Sequence[VolumeSnapshot], claims: Sequence[PersistentVolumeClaim]
) -> Iterator[FoundSnapshot]:
    by_name = {(each.namespace, each.name): each for each in claims}
    for each in taken:
        if labels.SNAPSHOT in each.labels:
            bound = each.status.bound_volume_snapshot_content_name
            content = client.get(SNAPSHOT_CONTENTS, bound) if bound else None
            claim = by_name.get((each.namespace, each.claim_name))
            yield FoundSnapshot(client.name, each, content, claim)


def _teams(client: Client, engine: EngineDefinition) -> Iterator[FoundTeam]:
    """The teams of Slack, by the objects of the engine; the bot may not list namespaces.

    Those whose engine keeps them in a service of its own are not found.
    """
    found: dict[tuple[str, str], ClusterObject] = {}
    for kind in (each for each in engine.teams.kinds if each not in engine.polled):
        for each in _listed(client, kind, f"{labels.INSTALLATION},{labels.TEAM}"):
            found.setdefault((_writer(each), each.labels[labels.TEAM]), each)
    for (installation, team), each in sorted(found.items()):
        yield _team(client, FoundTeam(client.name, installation, team, each, {}))


def _team(client: Client, found: FoundTeam) -> FoundTeam:
    """The team with the objects that its record names.

    Who may create an object may write its record, so a request for that which fails stops no other.
    """
    there: dict[tuple[str, str, str], ClusterObject] = {}
    for each in found.record.objects if found.record is not None else ():
        resource = known_resource(each.kind)
        if resource is None or is_in_service(resource):
            continue
        try:
            object_ = client.get(resource, each.name, each.namespace)
        except ClusterError as error:
            if not error.is_final and error.reason not in _REFUSED:
                raise
            return replace(found, trouble=f"{error.message} {error.hint}".strip())
        if object_ is not None:
            there[key_of(each)] = object_
    return replace(found, there=there)


def _is_cache(claim: PersistentVolumeClaim) -> bool:
    return labels.DATASET_CACHE in claim.labels


def _objects(cluster: ClusterContent) -> Iterator[ClusterObject]:
    """All labelled objects of a cluster."""
    yield from (each.root.object for each in cluster.roots)
    yield from (each.object for each in cluster.teams)
    yield from (each.object for each in cluster.caches)
    yield from (each.object for each in cluster.snapshots)
    yield from (each for _, each in cluster.others)


def _listed(client: Client, resource: Resource[Any], selector: str) -> Sequence[Any]:
    """All of them; a server that asks for patience, as after a start, is given some."""
    for left in reversed(range(_TRIES)):
        try:
            return client.list(resource, labels=selector)
        except OverloadedError as error:
            if not left:
                raise
            Event().wait(min(error.retry_after_seconds, _LONGEST_PAUSE_SECONDS))
        except ClusterError as error:
            if error.reason == "NotServed":
                return ()
            raise
    raise AssertionError


def _writer(each: ClusterObject) -> str:
    return each.labels[labels.INSTALLATION]


def _is_of(each: ClusterObject, installation: str) -> bool:
    return each.labels.get(labels.INSTALLATION) == installation
