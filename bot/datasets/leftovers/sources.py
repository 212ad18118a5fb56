"""Sources of leftovers outside the cluster, such as the volumes of a cloud."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.datasets.caches.tables import Orphan
from bot.errors import OutsideError


@dataclass(frozen=True)
class Search:
    """What a source found; `unread` says what part of it could not be read, as sentences.

    `needed` are the uids of what was read and is no leftover.
    """

    found: Sequence[Orphan] = ()
    needed: frozenset[str] = frozenset()
    unread: str = ""


class OrphanSource(Protocol):
    """A cloud whose volumes may outlive the objects that they were created for."""

    @property
    def kind(self) -> str:
        """The kind of its orphans, as people read it; unique among the sources."""

    def find(self, cluster: Cluster, now: datetime) -> Search:
        """The leftovers of a cluster; none if the source is not configured.

        `why` of each is a sentence that says how it was recognised; one with a `command` gets no
        button. OutsideError if the cloud cannot be queried.
        """

    def remove(self, cluster: Cluster, orphan: Orphan) -> list[str]:
        """Deletes one after another check; returned sentences say why it was not deleted."""


@dataclass(frozen=True)
class OrphansFound:
    """The results of all sources: what was found, and by kind why a query failed, or part of it.

    `needed` are the uids of what was read nevertheless and is no leftover.
    """

    found: Sequence[Orphan] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()


def volumes_elsewhere(
    clusters: Mapping[str, Cluster], cluster: Cluster
) -> Iterator[PersistentVolume]:
    """The PersistentVolumes of all other clusters; OutsideError if one does not answer."""
    for name, other in clusters.items():
        if name != cluster.name:
            yield from other.list(VOLUMES)


def ask(sources: Sequence[OrphanSource], cluster: Cluster, now: datetime) -> OrphansFound:
    """Queries all sources; if one fails, the others are still queried."""
    found: list[Orphan] = []
    failed: dict[str, str] = {}
    needed: frozenset[str] = frozenset()
    for source in sources:
        try:
            search = source.find(cluster, now)
        except OutsideError as error:
            said = f"Leftovers of kind {source.kind} are unknown. {error.message} {error.hint}"
            failed[source.kind] = said.rstrip()
            continue
        found += search.found
        needed |= search.needed
        if search.unread:
            said = f"Some leftovers of kind {source.kind} may be unknown. {search.unread}"
            failed[source.kind] = said
    return OrphansFound(found, failed, needed)
