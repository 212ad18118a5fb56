"""The storage classes for caches: whether many nodes can mount their volumes, and their capacity.

The source of the capacity is, in this order: the capacity pool of Azure NetApp Files, a
ResourceQuota, a budget.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.cluster.types.allowances import Allowance
from bot.config import CacheClass, Datasets, Settings
from bot.datasets.caches.expiry import ClassCapacity
from bot.datasets.caches.plan import CachePlan
from bot.datasets.caches.shares.forms import Storage, unshareable
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.grammar.reading import closest
from bot.volumes.pools.capacity import PoolRoom

_MANY = "ReadWriteMany"
_REQUESTS = "requests.storage"
# A volume requested shortly before the pool was read may not have existed yet.
_UNDER_WAY = timedelta(minutes=5)


class Classes:
    """The configured storage classes, checked against the cluster."""

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def datasets(self, cluster: str) -> Datasets:
        """The configuration of caching in a cluster; NotFoundError if there is none there."""
        datasets = self.everywhere()
        if cluster not in datasets.caching:
            raise NotFoundError(
                f"Datasets are not cached on cluster {cluster}.",
                f"They are cached on: {', '.join(datasets.caching)}.",
            )
        return datasets.at(cluster)

    def everywhere(self) -> Datasets:
        """The configuration of datasets; ConflictError if it has no classes for caches."""
        datasets = self._settings().datasets
        if datasets is None or not datasets.caching:
            raise ConflictError(
                "Caching is not set up here.",
                "A platform admin can add storage classes to datasets.classes in"
                " quartermaster.yaml; see docs/datasets.md.",
            )
        return datasets

    def named(self, cluster: str) -> str:
        """How messages name a cluster; empty if all caches are in one, or there are none."""
        datasets = self._settings().datasets
        return datasets.named(cluster) if datasets is not None else ""

    def cluster(self, plan: CachePlan) -> str:
        """The cluster in which a plan creates its cache."""
        return plan.cluster or self.everywhere().cluster

    def settings(self, name: str, cluster: str) -> CacheClass:
        """The configuration of a class."""
        return self.datasets(cluster).classes[name]

    def chosen(self, name: str | None, cluster: str) -> str:
        """The requested class of a cluster, or its default one if none was named.

        Raises:
            UsageError: there are several and none is the default.
            NotFoundError: the class is not configured for caches.
            ConflictError: the cluster does not have it, or only one node can mount its volumes.
        """
        datasets = self.datasets(cluster)
        known = list(datasets.classes)
        name = name or datasets.default_class or (known[0] if len(known) == 1 else None)
        if name is None:
            raise UsageError(
                "Name a storage class: there are several.",
                f"Add --class with one of: {', '.join(known)}.",
            )
        if name not in datasets.classes:
            raise self._unknown(name, datasets)
        if datasets.classes[name].fsx is None:
            self._refuse_disks(datasets, name)
        return name

    def refuse_unshareable(self, name: str, namespace: str, cluster: str) -> None:
        """ConflictError if volumes of a class cannot be mounted in that namespace too."""
        datasets = self.datasets(cluster)
        if namespace == datasets.namespace:
            return
        view = self._clusters[datasets.cluster].view
        why = unshareable(view, Storage(name), datasets.static_drivers)
        if why is not None:
            raise ConflictError(f"Namespace {namespace} cannot mount it. {why.reason}", why.unblock)

    def layout(self, name: str | None) -> str:
        """The requested layout, empty for none; NotFoundError if it is not configured."""
        if name is None:
            return ""
        known = self.everywhere().layouts
        if name not in known:
            near = closest(name, known)
            there = f"Use one of: {', '.join(known)}." if known else "No layouts are configured."
            raise NotFoundError(
                f"There is no layout {name}.", f"Did you mean {near}?" if near else there
            )
        return name

    def _unknown(self, name: str, datasets: Datasets) -> NotFoundError:
        """The error for a class that is not configured in a cluster."""
        known, whole = list(datasets.classes), self.everywhere()
        of = f" on cluster {named}" if (named := whole.named(datasets.cluster)) else ""
        there = [each for each in whole.caching if name in whole.at(each).classes]
        near = closest(name, known)
        hint = f"Did you mean {near}?" if near else f"Use one of: {', '.join(known)}."
        if there:
            hint = f"Cluster {there[0]} has it: add --cluster {there[0]}."
        return NotFoundError(f"Storage class {name} is not used for caching{of}.", hint)

    def _refuse_disks(self, datasets: Datasets, name: str) -> None:
        """ConflictError for a class of disks; a class that the view has not read yet passes."""
        view = self._clusters[datasets.cluster].view
        told = self._settings().clusters[datasets.cluster].access_modes.get(name)
        found = view.get(STORAGE_CLASSES, name)
        if found is None and view.store(STORAGE_CLASSES).synced:
            raise ConflictError(
                f"Cluster {datasets.cluster} has no storage class {name}.",
                "A platform admin must create it or remove it from datasets.classes.",
            )
        is_disk = found is not None and found.makes_disks
        if told != _MANY and (told is not None or is_disk):
            raise ConflictError(
                f"Volumes of storage class {name} are for one node at a time ({_mode(told)}), but a"
                f" cache needs {_MANY}.",
                "Use a class for file storage such as NFS, not for disks, with --class.",
            )


def _mode(told: str | None) -> str:
    return told or "ReadWriteOnce"


def kept(session: Session, cluster: str) -> Sequence[Cache]:
    """The caches of a cluster that may still have a volume."""
    return session.exec(
        select(Cache)
        .where(col(Cache.cluster) == cluster, col(Cache.is_cleared).is_(False))
        .order_by(col(Cache.id))
    ).all()


def rooms(
    caches: Sequence[Cache],
    allowances: Iterable[Allowance],
    pools: Mapping[str, PoolRoom],
    datasets: Datasets,
) -> dict[str, ClassCapacity]:
    """The capacity of every class that is configured or used, by its name.

    `allowances` are the ResourceQuotas of the namespace of datasets, `pools` the capacity pools
    of classes.
    """
    taken: dict[str, int] = dict.fromkeys(datasets.classes, 0)
    leaving = dict(taken)
    for cache in caches:
        name = cache.storage_class
        taken[name] = taken.get(name, 0) + cache.capacity_bytes
        if cache.wanted == CacheIntent.EVICT or cache.phase == CachePhase.EVICTING:
            leaving[name] = leaving.get(name, 0) + cache.capacity_bytes
    quotas = list(allowances)
    return {
        name: _in_pool(pools[name], caches, ClassCapacity(None, bytes_, leaving.get(name, 0)), name)
        if name in pools
        else _room(name, ClassCapacity(None, bytes_, leaving.get(name, 0)), quotas, datasets)
        for name, bytes_ in taken.items()
    }


def _in_pool(
    pool: PoolRoom, caches: Iterable[Cache], room: ClassCapacity, name: str
) -> ClassCapacity:
    """What Azure reported, plus what was requested since.

    A volume being deleted counts until Azure no longer has it.
    """
    unseen = sum(
        each.capacity_bytes
        for each in caches
        if each.storage_class == name
        and each.is_live
        and each.claim_uid is not None  # what has no PVC yet is promised room by `left`
        and (not each.volume_name or each.asked_at > pool.seen_at - _UNDER_WAY)
    )
    return ClassCapacity(
        pool.size_bytes, pool.taken_bytes + unseen, room.leaving, f"pool {pool.name}"
    )


def _room(
    name: str, room: ClassCapacity, quotas: Sequence[Allowance], datasets: Datasets
) -> ClassCapacity:
    limits = [
        ClassCapacity(_bytes(quota.status.hard[key]), _bytes(quota.status.used.get(key)),
                      room.leaving, f"ResourceQuota {quota.name}")
        for quota in quotas
        for key in (f"{name}.storageclass.storage.k8s.io/{_REQUESTS}", _REQUESTS)
        if key in quota.status.hard
    ]  # fmt: skip
    if limits:
        return min(limits, key=lambda each: each.free or 0)
    known = datasets.classes.get(name)
    if known is not None and known.budget is not None:
        return ClassCapacity(known.budget, room.taken, room.leaving, "budget")
    return room


def _bytes(amount: Decimal | None) -> int:
    return int(amount or 0)
