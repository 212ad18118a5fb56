"""The capacity of storage classes for caches.

The source is, in this order: the capacity pool of Azure NetApp Files, a ResourceQuota, a budget.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

from sqlmodel import Session, col, select

from bot.cluster.allowances import Allowance
from bot.config import Datasets
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase
from bot.datasets.caches.watermark import ClassCapacity
from bot.volumes.pools.capacity import PoolRoom

_REQUESTS = "requests.storage"
# A volume requested shortly before the pool was read may not have existed yet.
_UNDER_WAY = timedelta(minutes=5)


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
