"""How much room storage classes have for caches: by a ResourceQuota, else by a budget."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from sqlmodel import Session, col, select

from bot.cluster.allowances import Allowance
from bot.config import Datasets
from bot.datasets.caches.tables import Cache, Phase, Wanted
from bot.datasets.caches.watermark import Room

_REQUESTS = "requests.storage"


def kept(session: Session, cluster: str) -> Sequence[Cache]:
    """The caches of a cluster that may still have a volume."""
    return session.exec(
        select(Cache)
        .where(col(Cache.cluster) == cluster, col(Cache.is_cleared).is_(False))
        .order_by(col(Cache.id))
    ).all()


def rooms(
    caches: Iterable[Cache], allowances: Iterable[Allowance], datasets: Datasets
) -> dict[str, Room]:
    """The room of every class that is configured or used, by its name.

    `allowances` are the ResourceQuotas of the namespace of datasets.
    """
    taken: dict[str, int] = dict.fromkeys(datasets.classes, 0)
    leaving = dict(taken)
    for cache in caches:
        name = cache.storage_class
        taken[name] = taken.get(name, 0) + cache.capacity_bytes
        if cache.wanted == Wanted.EVICT or cache.phase == Phase.EVICTING:
            leaving[name] = leaving.get(name, 0) + cache.capacity_bytes
    quotas = list(allowances)
    return {
        name: _room(name, Room(None, bytes_, leaving.get(name, 0)), quotas, datasets)
        for name, bytes_ in taken.items()
    }


def _room(name: str, room: Room, quotas: Sequence[Allowance], datasets: Datasets) -> Room:
    limits = [
        Room(_bytes(quota.status.hard[key]), _bytes(quota.status.used.get(key)), room.leaving,
             f"ResourceQuota {quota.name}")
        for quota in quotas
        for key in (f"{name}.storageclass.storage.k8s.io/{_REQUESTS}", _REQUESTS)
        if key in quota.status.hard
    ]  # fmt: skip
    if limits:
        return min(limits, key=lambda each: each.free or 0)
    known = datasets.classes.get(name)
    if known is not None and known.budget is not None:
        return Room(known.budget, room.taken, room.leaving, "budget")
    return room


def _bytes(amount: Decimal | None) -> int:
    return int(amount or 0)
