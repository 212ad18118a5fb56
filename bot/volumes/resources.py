"""Volumes and capacity pools of Azure NetApp Files, reduced to what the bot looks at."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_ID = re.compile(
    r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.NetApp"
    r"/netAppAccounts/([^/]+)/capacityPools/([^/]+)(?:/volumes/([^/]+))?",
    re.IGNORECASE,
)


class PoolPlace(NamedTuple):
    """Where a pool is: resource group, account, name."""

    group: str
    account: str
    pool: str


class VolumePlace(NamedTuple):
    """Where a volume is: resource group, account, pool, name; a move to another pool changes it."""

    group: str
    account: str
    pool: str
    name: str


def volume_place(resource_id: str, subscription: str) -> VolumePlace | None:
    """The place that an ARM id names; None for anything but a volume of this subscription."""
    found = _ID.fullmatch(resource_id)
    if found is None or found[5] is None or found[1].lower() != subscription.lower():
        return None
    return VolumePlace(found[2], found[3], found[4], found[5])


def pool_place(resource_id: str) -> PoolPlace | None:
    """The place that the ARM id of a pool names; None for anything else."""
    found = _ID.fullmatch(resource_id)
    return PoolPlace(found[2], found[3], found[4]) if found and found[5] is None else None


def same_id(one: str, other: str) -> bool:
    """Whether two ARM ids name the same; ARM itself spells them in more than one way."""
    return one.lower() == other.lower()


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return [each.lower() for each in one] == [each.lower() for each in other]


@dataclass(frozen=True)
class Pool:
    """A capacity pool; `taken_bytes` is what its volumes may hold together, None where unknown."""

    id: str
    place: PoolPlace
    level: str
    qos: str
    size_bytes: int
    throughput_mibps: float | None
    used_throughput_mibps: float | None
    state: str = "Succeeded"
    encryption: str = ""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.place.pool


@dataclass(frozen=True)
class Volume:
    """A volume.

    `path` is what it is mounted by and the same for ever, as is `file_system`. `throughput_mibps`
    is what ARM says it may do. `used_bytes` is None where ARM does not tell. `addresses` are those
    it is mounted from, `maker` the backend of the Trident that made it, empty where nothing says.
    """

    id: str
    place: VolumePlace
    path: str
    file_system: str
    level: str
    quota_bytes: int
    throughput_mibps: float | None
    used_bytes: int | None = None
    state: str = "Succeeded"
    addresses: tuple[str, ...] = ()
    maker: str = ""

    @property
    def pool(self) -> PoolPlace:
        """The pool it is in."""
        return PoolPlace(*self.place[:3])


def is_settled(found: Pool | Volume) -> bool:
    """Whether Azure is not at work on it."""
    return found.state.lower() in {"", "succeeded"}


@dataclass(frozen=True)
class Estate:
    """All pools and volumes that the bot may see."""

    pools: tuple[Pool, ...]
    volumes: tuple[Volume, ...]

    def inside(self, pool: Pool) -> tuple[Volume, ...]:
        """The volumes of a pool."""
        return tuple(each for each in self.volumes if _alike(each.pool, pool.place))

    def taken_bytes(self, pool: Pool) -> int:
        """What the volumes of a pool may hold together."""
        return sum(each.quota_bytes for each in self.inside(pool))
