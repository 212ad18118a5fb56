"""PVCs in the namespaces of teams that no pod has mounted for a long time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.config import Datasets, Settings
from bot.datasets.caches.evictions.claim_usage import ClaimSighting, teams_by_namespace, used_at


@dataclass(frozen=True)
class Idle:
    """A PVC that no pod has been seen to mount since `since`, or ever if not `was_mounted`.

    `monthly_price` is None if the class has no price, `size_bytes` if the size is unknown.
    """

    namespace: str
    name: str
    teams: str
    storage_class: str
    size_bytes: int | None
    monthly_price: float | None
    since: datetime
    was_mounted: bool


def find(
    cluster: Cluster,
    settings: Settings,
    noted: Iterable[ClaimSighting],
    there: Mapping[str, PersistentVolumeClaim],
    now: datetime,
) -> list[Idle]:
    """The idle PVCs, the largest first; lists the pods of their namespaces.

    `noted` is what sweeps have recorded, `there` are all PVCs of the cluster by uid. Caches of
    datasets and their shares do not count.
    """
    if settings.datasets is None or settings.datasets.idle_claims == "off":
        return []
    limit, teams = now - settings.datasets.idle_claims, teams_by_namespace(settings, cluster.name)
    old = [
        (row, there[row.uid])
        for row in noted
        if row.last_at <= limit
        and row.uid in there
        and there[row.uid].namespace in teams
        and not _is_copy(there[row.uid])
    ]
    namespaces = sorted({claim.namespace for _, claim in old})
    mounted = used_at((pod for each in namespaces for pod in cluster.list(PODS, each)), now)
    found = [
        _idle(row, claim, teams[claim.namespace], settings.datasets.at(cluster.name))
        for row, claim in old
        if mounted.get((claim.namespace, claim.name), limit) <= limit
    ]
    return sorted(found, key=lambda each: (-(each.size_bytes or 0), each.namespace, each.name))


def _is_copy(claim: PersistentVolumeClaim) -> bool:
    return not {labels.DATASET_CACHE, labels.DATASET_SHARE}.isdisjoint(claim.labels)


def _idle(row: ClaimSighting, claim: PersistentVolumeClaim, teams: str, datasets: Datasets) -> Idle:
    kind, classes = claim.spec.storage_class_name or "", datasets.classes
    return Idle(
        namespace=claim.namespace,
        name=claim.name,
        teams=teams,
        storage_class=kind,
        size_bytes=claim.size_bytes,
        monthly_price=classes[kind].monthly_price(claim.size_bytes) if kind in classes else None,
        since=row.last_at,
        was_mounted=row.mounted_at is not None,
    )
