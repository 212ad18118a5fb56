"""Where else something may be left over: outside of the cluster, as volumes of a cloud are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.cluster.cluster import Cluster
from bot.datasets.caches.tables import Orphan
from bot.errors import OutsideError


class OrphanSource(Protocol):
    """A cloud in which volumes may have outlived what they were made for."""

    @property
    def kind(self) -> str:
        """What its orphans are, as people read it; those of no other source are so."""

    def find(self, cluster: Cluster, now: datetime) -> Sequence[Orphan]:
        """What is left over of a cluster, none where nothing is set up for that.

        `why` of each says as a sentence what it is known by; with a `command` nobody gets a
        button. OutsideError when it cannot be told.
        """

    def remove(self, cluster: Cluster, orphan: Orphan) -> list[str]:
        """Removes one, after another look; sentences say why not, and then nothing was done."""


@dataclass(frozen=True)
class Asked:
    """What sources told: what they found, and by their kind why others could not be asked."""

    found: Sequence[Orphan] = ()
    failed: Mapping[str, str] = field(default_factory=dict)


def ask(sources: Sequence[OrphanSource], cluster: Cluster, now: datetime) -> Asked:
    """What all of them find; that one cannot be asked keeps the others from nothing."""
    found: list[Orphan] = []
    failed: dict[str, str] = {}
    for source in sources:
        try:
            found += source.find(cluster, now)
        except OutsideError as error:
            failed[source.kind] = f"{error.message} {error.hint}".rstrip()
    return Asked(found, failed)
