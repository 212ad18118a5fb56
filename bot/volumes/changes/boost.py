"""Plans the boost of a volume during a fill, also of a volume that does not exist yet."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.cluster.types.claims import TRIDENT
from bot.config import Anf, Settings
from bot.errors import ConflictError, LimitError, UserError
from bot.volumes.anf import configured
from bot.volumes.changes.plan import (
    MANUAL,
    MOST_MIBPS,
    ChangePlan,
    ChangeRequest,
    VolumeState,
    make_plan,
    throughput_left,
)
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.levels import RATES, estimated_throughput
from bot.volumes.matching import MatchedVolume, Named
from bot.volumes.pools.capacity import fresh_pools, pool_rooms
from bot.volumes.resources import AnfVolume, Estate, Pool, VolumePlace, pool_place
from bot.volumes.tables import SeenPool
from bot.volumes.wording import throughput

_WITHOUT = "Without --boost it is filled at its current throughput."
# Volumes of such a class are created manually.
_NOBODY = "kubernetes.io/no-provisioner"
_NEW = "new"


@dataclass(frozen=True)
class Coming:
    """A volume that is to be created: its class, its size, and its throughput if known."""

    storage_class: str
    size_bytes: int
    mibps: float | None


def boosted(state: VolumeState, anf: Anf) -> tuple[ChangeRequest, ChangePlan]:
    """The best boost of a volume, and its plan.

    With manual QoS it is half of the throughput left in the volume's pool, so that some is left for
    others. With automatic QoS it is the fastest higher level with free capacity in a pool, else the
    lowest of the levels whose pools have to grow least. Raises UserError if there is none.
    """
    estate, volume = state.estate, state.found.volume
    source = next((each for each in estate.pools if volume in estate.inside(each)), None)
    if source is None:
        raise ConflictError(
            f"The bot cannot see the pool of volume {volume.place.name} in Azure.", ""
        )
    if source.qos == MANUAL:
        request = ChangeRequest(ChangeKind.THROUGHPUT, mibps=_more(estate, volume, source))
        return request, make_plan(state, request, anf)
    if state.named.id or volume.maker:
        raise ConflictError(
            f"Pool {source.name} has automatic QoS, so only a move to another pool would make the"
            " volume faster. A move changes its Azure id, and Trident, which created it, would not"
            " learn the new id.",
            f"{_WITHOUT} Volumes in pools with manual QoS can be boosted.",
        )
    return _higher(state, source, anf)


def _more(estate: Estate, volume: AnfVolume, pool: Pool) -> float:
    left, own = throughput_left(estate, pool, volume), volume.throughput_mibps or 0
    if left is None:
        raise ConflictError(f"Azure does not report the throughput of pool {pool.name}.", _WITHOUT)
    wanted = float(math.floor(min((own + left) / 2, MOST_MIBPS)))
    if wanted <= own:
        raise LimitError(
            f"Pool {pool.name} has no throughput left for a boost: {throughput(left)} for this"
            f" volume, of {throughput(pool.throughput_mibps)}.",
            f"{_WITHOUT} `/anf pools` shows the throughput of pools.",
        )
    return wanted


def _higher(state: VolumeState, source: Pool, anf: Anf) -> tuple[ChangeRequest, ChangePlan]:
    rate = RATES.get(source.level, max(RATES.values()))
    found: list[tuple[int, int, ChangeRequest, ChangePlan]] = []
    refusal: UserError | None = None
    for level, higher in RATES.items():
        if higher <= rate:
            continue
        request = ChangeRequest(ChangeKind.LEVEL, level)
        try:
            plan = make_plan(state, request, anf)
        except UserError as error:
            refusal = refusal or error
            continue
        if plan.target.qos != MANUAL:
            growth = plan.growth_bytes
            found.append((growth, higher if growth else -higher, request, plan))
    if not found:
        raise refusal or ConflictError(
            f"Pool {source.name} is {source.level}, and there is no higher level to boost to.",
            _WITHOUT,
        )
    return min(found, key=lambda each: each[:2])[2:]


def foreseen(
    session: Session, settings: Settings, cluster: Cluster, coming: Coming, now: datetime
) -> ChangePlan:
    """The plan of a boost, from rows and watches alone; raises UserError if impossible."""
    anf = configured(settings)
    if anf.changes is None:
        raise ConflictError(
            "Changing levels and throughput is not enabled, so nothing can be boosted.",
            "A platform admin can add `anf.changes` to quartermaster.yaml; see docs/anf.md.",
        )
    maker = _maker(cluster, coming.storage_class)
    room = pool_rooms(session, settings, cluster, now).get(coming.storage_class)
    seen = fresh_pools(session, now)
    there = seen.get(room.id) if room is not None else None
    place = pool_place(there.id) if there is not None and there.level else None
    if there is None or place is None:
        raise ConflictError(
            f"The capacity pool of storage class {coming.storage_class} is unknown, so its volumes"
            " cannot be boosted.",
            "A platform admin can name it in anf.classes in quartermaster.yaml. Azure is checked"
            " every ten minutes.",
        )
    by_size = estimated_throughput(there.level, coming.size_bytes)
    volume = AnfVolume(
        id=f"{there.id}/volumes/{_NEW}",
        place=VolumePlace(*place._replace(pool=there.name), _NEW),
        path=_NEW,
        file_system="",
        level=there.level,
        quota_bytes=coming.size_bytes,
        throughput_mibps=coming.mibps if there.qos == MANUAL else by_size,
    )
    estate = Estate(tuple(_pools(seen)), (*_others(seen), volume))
    named = Named(volume.id if maker == TRIDENT else "", _NEW)
    return boosted(VolumeState(estate, named, MatchedVolume(volume), None, now), anf)[1]


def _maker(cluster: Cluster, storage_class: str) -> str:
    """The driver of a storage class; raises ConflictError if it is not known to use ANF.

    Other drivers may put many of their volumes on one of Azure's.
    """
    found = cluster.view.get(STORAGE_CLASSES, storage_class)
    maker = found.provisioner if found is not None else ""
    if maker not in {"", TRIDENT, _NOBODY}:
        raise ConflictError(
            f"Volumes of storage class {storage_class} are created by {maker}. Whether they are on"
            " Azure NetApp Files is unknown, so they cannot be boosted.",
            "Omit --boost, or choose a Trident class with --class.",
        )
    return maker


def _pools(seen: dict[str, SeenPool]) -> Iterator[Pool]:
    for each in seen.values():
        place = pool_place(each.id)
        if place is not None and each.level:
            yield Pool(
                id=each.id,
                place=place._replace(pool=each.name),
                level=each.level,
                qos=each.qos,
                size_bytes=each.size_bytes,
                throughput_mibps=each.throughput_mibps,
                used_throughput_mibps=each.given_mibps,
                encryption=each.encryption,
            )


def _others(seen: dict[str, SeenPool]) -> Iterator[AnfVolume]:
    """One volume for each pool that stands for all of its volumes."""
    for pool in _pools(seen):
        yield AnfVolume(
            id=f"{pool.id}/volumes/others",
            place=VolumePlace(*pool.place, "others"),
            path="",
            file_system="",
            level=pool.level,
            quota_bytes=seen[pool.id].taken_bytes,
            throughput_mibps=pool.used_throughput_mibps,
        )
