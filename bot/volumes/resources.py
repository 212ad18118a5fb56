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
    """The subscription (in lower case), resource group, account and name of a pool."""

    subscription: str
    group: str
    account: str
    pool: str


class VolumePlace(NamedTuple):
    """The place of a volume's pool, and its own name; a move to another pool changes it."""

    subscription: str
    group: str
    account: str
    pool: str
    name: str


def volume_place(resource_id: str) -> VolumePlace | None:
    """The volume in an ARM id; None for anything else."""
    found = _ID.fullmatch(resource_id)
    if found is None or found[5] is None:
        return None
    return VolumePlace(found[1].lower(), found[2], found[3], found[4], found[5])


def pool_place(resource_id: str) -> PoolPlace | None:
    """The pool in an ARM id; None for anything else."""
    found = _ID.fullmatch(resource_id)
    if found is None or found[5] is not None:
        return None
    return PoolPlace(found[1].lower(), found[2], found[3], found[4])


def names_pool(address: str, name: str, resource_id: str) -> bool:
    """Whether an address in the settings means a pool: its name alone, or with all before it."""
    place = pool_place(resource_id)
    return address.lower() in {name.lower(), "/".join(place or ()).lower()}


def same_account(one: PoolPlace | VolumePlace, other: PoolPlace | VolumePlace) -> bool:
    """Whether two are in one account of one subscription, as Azure compares names."""
    return _alike(one[:3], other[:3])


def same_place(one: PoolPlace, other: PoolPlace) -> bool:
    """Whether two places are the same pool, as Azure compares names."""
    return _alike(one, other)


def subscription_of(resource_id: str) -> str:
    """The subscription in an ARM id, in lower case; empty if it names none."""
    parts = resource_id.lower().split("/")
    return parts[2] if parts[:2] == ["", "subscriptions"] and len(parts) > 2 else ""  # noqa: PLR2004 - /subscriptions/ID


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
        return PoolPlace(*self.place[:4])


def is_settled(found: Pool | AnfVolume) -> bool:
    """Whether Azure has no operation in progress on it."""
    return found.state.lower() in {"", "succeeded"}


@dataclass(frozen=True)
class Unread:
    """A subscription that could not be read, with the reason and what to do, as sentences."""

    subscription: str
    why: str
    hint: str = ""

    @property
    def sentence(self) -> str:
        """The reason, with the subscription."""
        return f"Subscription {self.subscription} could not be read. {self.why}"


@dataclass(frozen=True)
class Estate:
    """All pools and volumes that the bot can see, without those of `unread` subscriptions."""

    pools: tuple[Pool, ...]
    volumes: tuple[AnfVolume, ...]
    unread: tuple[Unread, ...] = ()

    def inside(self, pool: Pool) -> tuple[AnfVolume, ...]:
        """The volumes of a pool."""
        return tuple(each for each in self.volumes if _alike(each.pool, pool.place))

    def taken_bytes(self, pool: Pool) -> int:
        """The sum of the quotas of a pool's volumes."""
        return sum(each.quota_bytes for each in self.inside(pool))
