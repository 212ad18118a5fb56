"""Volumes and capacity pools of Azure NetApp Files, with the fields that the bot uses."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_ID = re.compile(
    r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.NetApp"
    r"/netAppAccounts/([^/]+)/capacityPools/([^/]+)(?:/volumes/([^/]+))?",
    re.IGNORECASE,
)


class PoolPlace(NamedTuple):
    """The resource group, account and name of a pool."""

    group: str
    account: str
    pool: str


class VolumePlace(NamedTuple):
    """The resource group, account, pool and name of a volume; a move to another pool changes it."""

    group: str
    account: str
    pool: str
    name: str


def volume_place(resource_id: str, subscription: str) -> VolumePlace | None:
    """The volume in an ARM id; None for anything but a volume of this subscription."""
    found = _ID.fullmatch(resource_id)
    if found is None or found[5] is None or found[1].lower() != subscription.lower():
        return None
    return VolumePlace(found[2], found[3], found[4], found[5])


def pool_place(resource_id: str) -> PoolPlace | None:
    """The pool in an ARM id; None for anything else."""
    found = _ID.fullmatch(resource_id)
    return PoolPlace(found[2], found[3], found[4]) if found and found[5] is None else None


def same_id(one: str, other: str) -> bool:
    """Whether two ARM ids are equal; their case does not matter."""
    return one.lower() == other.lower()


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return [each.lower() for each in one] == [each.lower() for each in other]


@dataclass(frozen=True)
class Pool:
    """A capacity pool; its throughput is None if unknown.

    `uuid` is Azure's own id of it, which a later pool of the same name does not have. `made_by` is
    the installation of the bot that created it, for its request `made_for`; empty for others.
    """

    id: str
    place: PoolPlace
    level: str
    qos: str
    size_bytes: int
    throughput_mibps: float | None
    used_throughput_mibps: float | None
    state: str = "Succeeded"
    encryption: str = ""
    uuid: str = ""
    made_by: str = ""
    made_for: str = ""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.place.pool


@dataclass(frozen=True)
class AnfVolume:
    """A volume.

    `path` is its mount path; it and `file_system` never change. `throughput_mibps` is the limit
    that ARM reports. `used_bytes` is None if ARM does not report it. `addresses` are those of its
    mount targets, `maker` the backend of the Trident that created it, empty if unknown.
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


def is_settled(found: Pool | AnfVolume) -> bool:
    """Whether Azure has no operation in progress on it."""
    return found.state.lower() in {"", "succeeded"}


@dataclass(frozen=True)
class Estate:
    """All pools and volumes that the bot can see."""

    pools: tuple[Pool, ...]
    volumes: tuple[AnfVolume, ...]

    def inside(self, pool: Pool) -> tuple[AnfVolume, ...]:
        """The volumes of a pool."""
        return tuple(each for each in self.volumes if _alike(each.pool, pool.place))

    def taken_bytes(self, pool: Pool) -> int:
        """The sum of the quotas of a pool's volumes."""
        return sum(each.quota_bytes for each in self.inside(pool))
