"""What there is in the subscriptions of a tenant: accounts, pools, volumes and snapshots."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from playground.arm.errors import missing

GIB = 1024**3
TIB = 1024 * GIB
# MiB/s for each TiB; of Flexible pools somebody says how much.
RATES = {"Standard": 16, "Premium": 64, "Ultra": 128, "Flexible": 0}
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
FURTHER = "11111111-1111-1111-1111-111111111111"
GROUP, ACCOUNT, LOCATION = "ml-platform", "ml", "westeurope"
_GIB_OF_A_REPORTED_TIB = 1000  # the service reports 262.144 MiB/s for 4 TiB of Premium


@dataclass
class Account:
    """A NetApp account, in a resource group of a subscription."""

    group: str
    name: str
    location: str = LOCATION
    subscription: str = SUBSCRIPTION


@dataclass
class Pool:
    """A capacity pool; `custom_throughput` is of Flexible ones, `busy` what works on it.

    `has_failed`: Azure gave up its creation.
    """

    account: Account
    name: str
    level: str
    size: int
    qos: str = "Auto"
    custom_throughput: float | None = None
    encryption: str = "Single"
    busy: str = ""
    has_failed: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def throughput(self) -> float:
        """All of it, in MiB/s."""
        return self.custom_throughput or throughput(self.level, self.size)


@dataclass
class Snapshot:
    """A snapshot of a volume."""

    name: str
    made_at: datetime
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass
class Volume:
    """A volume; `own_throughput` counts in pools with manual QoS, `raised_at` is its last way up.

    `busy` is the operation that works on it.
    """

    pool: Pool
    name: str
    path: str
    quota: int
    own_throughput: float = 16.0
    used: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    raised_at: datetime | None = None
    busy: str = ""
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    file_system: str = field(default_factory=lambda: str(uuid.uuid4()))
    address: str = "10.0.2.4"

    @property
    def throughput(self) -> float:
        """What it may do, in MiB/s."""
        is_manual = self.pool.qos == "Manual"
        return self.own_throughput if is_manual else throughput(self.pool.level, self.quota)


def throughput(level: str, size: int) -> float:
    """What a size does on a level, as the service counts it."""
    return round(RATES[level] * (size / GIB) / _GIB_OF_A_REPORTED_TIB, 3)


class Estate:
    """A tenant; names are compared as ARM compares them, without regard to case.

    `subscription` is its first one of `subscriptions`. `quota` is the capacity that all pools of a
    region may have in a subscription.
    """

    def __init__(self, subscription: str = SUBSCRIPTION) -> None:
        self.subscription = subscription
        self.subscriptions = [subscription]
        self.accounts: list[Account] = []
        self.pools: list[Pool] = []
        self.volumes: list[Volume] = []
        self.quota = 500 * TIB

    def account(self, subscription: str, group: str, name: str) -> Account:
        """One account; ArmError where there is none."""
        for each in self.accounts:
            if _same((each.subscription, each.group, each.name), (subscription, group, name)):
                return each
        raise missing("netAppAccounts", name)

    def pools_of(self, account: Account) -> Iterator[Pool]:
        """Those of an account."""
        return (each for each in self.pools if each.account is account)

    def pool(self, account: Account, name: str) -> Pool:
        """One pool; ArmError where there is none."""
        for each in self.pools_of(account):
            if _same((each.name,), (name,)):
                return each
        raise missing("netAppAccounts/capacityPools", f"{account.name}/{name}")

    def volumes_of(self, pool: Pool) -> Iterator[Volume]:
        """Those of a pool."""
        return (each for each in self.volumes if each.pool is pool)

    def volume(self, pool: Pool, name: str) -> Volume:
        """One volume; ArmError where there is none, as after it moved away."""
        for each in self.volumes_of(pool):
            if _same((each.name,), (name,)):
                return each
        path = f"{pool.account.name}/{pool.name}/{name}"
        raise missing("netAppAccounts/capacityPools/volumes", path)

    def add_account(
        self, group: str = GROUP, name: str = ACCOUNT, subscription: str = ""
    ) -> Account:
        """Makes an account, and its subscription if there is none."""
        where = subscription or self.subscription
        if where not in self.subscriptions:
            self.subscriptions.append(where)
        self.accounts.append(Account(group, name, subscription=where))
        return self.accounts[-1]

    def add_pool(self, account: Account, name: str, level: str, tebibytes: int) -> Pool:
        """Makes a pool with automatic QoS."""
        self.pools.append(Pool(account, name, level, tebibytes * TIB))
        return self.pools[-1]

    def add_volume(self, pool: Pool, name: str, quota: int) -> Volume:
        """Makes a volume whose path is its name."""
        self.volumes.append(Volume(pool, name, name, quota))
        return self.volumes[-1]

    def account_id(self, account: Account) -> str:
        """The ARM id of an account."""
        return (
            f"/subscriptions/{account.subscription}/resourceGroups/{account.group}"
            f"/providers/Microsoft.NetApp/netAppAccounts/{account.name}"
        )

    def pool_id(self, pool: Pool) -> str:
        """The ARM id of a pool."""
        return f"{self.account_id(pool.account)}/capacityPools/{pool.name}"

    def volume_id(self, volume: Volume) -> str:
        """The ARM id of a volume; another one after a move."""
        return f"{self.pool_id(volume.pool)}/volumes/{volume.name}"


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return [each.lower() for each in one] == [each.lower() for each in other]
