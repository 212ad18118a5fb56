"""Plans a growth from the current state of the cluster, Trident and Azure."""

from dataclasses import dataclass

import msgspec

from bot.cluster.cluster import Cluster
from bot.cluster.types.claims import PersistentVolumeClaim, StorageClass
from bot.cluster.types.quantities import parse_quantity
from bot.config import Anf
from bot.database.columns import WholeNumber
from bot.errors import ConflictError, LimitError, UsageError
from bot.volumes.levels import estimated_throughput, monthly_price
from bot.volumes.matching import Claimed, match, refuse_unread
from bot.volumes.moves import Records
from bot.volumes.records import UNBLOCK
from bot.volumes.resources import Estate
from bot.volumes.wording import GIB, capacity

_MANUAL = "Manual"
_LARGEST, SMALLEST = 100 * 1024 * GIB, 50 * GIB


class GrowthRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested growth. It is the value of a button, so its keys are short."""

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="p")
    size_bytes: WholeNumber = msgspec.field(name="s")


@dataclass(frozen=True)
class GrowthPlan:
    """What a growth does; `cost` is the added size's share of the pool's monthly bill."""

    from_bytes: int
    size_bytes: int
    pool: str
    free_after_bytes: int
    mibps_before: float | None
    mibps_after: float | None
    cost: float | None
    needs_approval: bool


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(GrowthRequest)


def written(asked: GrowthRequest) -> str:
    """The value of a button."""
    return msgspec.json.encode(asked).decode()


def read(value: str) -> GrowthRequest:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        again = "Request it again: `/anf grow PVC SIZE`."
        raise UsageError("This button is out of date.", again) from None


def bytes_of(size: str) -> int:
    """The bytes of a size such as 2Ti."""
    return int(parse_quantity(size))


def size_of(claim: PersistentVolumeClaim) -> int:
    """The capacity of a PVC in bytes."""
    return int(claim.status.capacity.get("storage") or 0)


def refuse_growing(of: Claimed, kind: StorageClass | None, size_bytes: int) -> None:
    """Raises UserError for what the cluster alone shows to be impossible."""
    claim, now = of.claim, size_of(of.claim)
    if not of.named.id:
        raise ConflictError(
            f"The PV of PVC {claim.name} was created manually. Kubernetes cannot grow such PVs.",
            "An admin can grow the volume in Azure. Pods that mount it see the new size at once.",
        )
    if kind is None or not kind.allow_volume_expansion:
        raise ConflictError(
            f"Storage class {claim.spec.storage_class_name or 'none'} does not allow PVCs to grow.",
            "A platform admin can set allowVolumeExpansion: true in it.",
        )
    if size_bytes <= now:
        raise UsageError(
            f"PVC {claim.name} has {capacity(now)}, and PVCs cannot shrink.",
            f"Ask for more, for example `/anf grow {claim.name} {_larger(now)}`.",
        )
    asked = int(claim.spec.resources.requests.get("storage") or 0)
    if asked > now:
        raise ConflictError(
            f"PVC {claim.name} is already growing from {capacity(now)} to {capacity(asked)}.",
            "Try again when it has grown.",
        )
    if size_bytes > _LARGEST:
        raise LimitError(f"A volume can have at most {capacity(_LARGEST)}.", "Ask for less.")


def refuse_lost(cluster: Cluster, estate: Estate, of: Claimed, anf: Anf) -> None:
    """Raises ConflictError if the volume was moved and Trident does not have its new id.

    Raises StorageError if its subscription could not be read.
    """
    refuse_unread(of.named, estate)
    found = match(of.named, estate.volumes)
    if found is None or not found.is_moved:
        return
    record = Records(cluster, anf.trident_namespace).of(of.volume.name)
    if record.is_stale(found.volume.id):
        raise ConflictError(
            f"The volume of PVC {of.claim.name} was moved to pool {found.volume.place.pool}, and"
            " Trident does not have its new id: it cannot be grown now. Pods that use it keep"
            " running.",
            UNBLOCK,
        )


def plan_growth(estate: Estate, of: Claimed, size_bytes: int, anf: Anf) -> GrowthPlan:
    """The plan of a growth; raises UserError if impossible."""
    name, changes = of.claim.name, anf.changes
    found = match(of.named, estate.volumes)
    pool = None
    if found is not None:
        pool = next((p for p in estate.pools if found.volume in estate.inside(p)), None)
    if found is None or pool is None or changes is None:
        raise ConflictError(
            f"The bot cannot see the volume of PVC {name} in Azure.",
            "Check `/anf volumes`.",
        )
    volume = found.volume
    wanted = max(size_bytes, SMALLEST)
    more = max(wanted - volume.quota_bytes, 0)
    free = pool.size_bytes - estate.taken_bytes(pool)
    if more > free:
        raise LimitError(
            f"Pool {pool.name} has {capacity(max(free, 0))} free, but {name} needs"
            f" {capacity(more)} more.",
            "Ask for less, or ask an admin to grow the pool in Azure.",
        )
    before = volume.throughput_mibps
    is_manual = pool.qos == _MANUAL
    after = (
        before if is_manual else estimated_throughput(pool.level, max(wanted, volume.quota_bytes))
    )
    cost = monthly_price(anf, pool.level, more) if more else 0.0
    costs = cost is None or cost > changes.approve_above
    return GrowthPlan(
        size_of(of.claim), size_bytes, pool.name, free - more, before, after, cost,
        needs_approval=changes.approve == "always" or costs,
    )  # fmt: skip


def _larger(size_bytes: int) -> str:
    gibibytes = -(-size_bytes // GIB) * 2
    return f"{gibibytes // 1024}Ti" if gibibytes % 1024 == 0 else f"{gibibytes}Gi"
