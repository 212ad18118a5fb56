"""What the service refuses: sizes, room, throughput, encryption, and going down too soon."""

import re
from datetime import datetime, timedelta
from typing import Any

from playground.arm.errors import ArmError, bad, busy
from playground.arm.estate import GIB, RATES, TIB, Account, Estate, Pool, Volume

LARGEST_POOL, LEAST_VOLUME, LARGEST_VOLUME = 2048 * TIB, 50 * GIB, 100 * TIB
MOST_THROUGHPUT, LEAST_FLEXIBLE = 4500.0, 128.0
WAIT = timedelta(hours=24)
MOST_POOLS = 25
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def refuse_pool_size(estate: Estate, pool: Pool | None, size: Any) -> None:
    """Pools are of whole TiB, and hold what their volumes may take."""
    if not isinstance(size, int) or size % TIB or not TIB <= size <= LARGEST_POOL:
        raise bad("Pool size must be a multiple of 1 TiB, from 1 TiB to 2048 TiB.")
    taken = 0 if pool is None else sum(each.quota for each in estate.volumes_of(pool))
    if size < taken:
        words = f"Pool size {size} is too small for the total size of its volumes ({taken})."
        raise bad(words)


def refuse_location(account: Account, location: Any) -> None:
    """Pools are in the region of their account."""
    if not location:
        raise bad("location is required.")
    if str(location).replace(" ", "").lower() != account.location:
        words = f"The resource location '{location}' must be that of its parent: {account.location}"
        raise ArmError(400, "InvalidResourceLocation", words)


def refuse_pool_name(name: str) -> None:
    """Names begin with a letter or digit, and have at most 64 characters."""
    if not _NAME.fullmatch(name):
        raise bad(f"The pool name '{name}' is not valid.")


def refuse_more_pools(estate: Estate, account: Account, size: int) -> None:
    """An account has 25 pools at most, and a region a quota of capacity in a subscription."""
    if sum(1 for _ in estate.pools_of(account)) >= MOST_POOLS:
        raise bad(f"The maximum number of pools ({MOST_POOLS}) for the account was reached.")
    where = (account.subscription, account.location)
    taken = sum(
        each.size
        for each in estate.pools
        if (each.account.subscription, each.account.location) == where
    )
    if taken + size > estate.quota:
        raise bad(
            f"Regional capacity quota exceeded: {(taken + size) // TIB} TiB are needed, and the"
            f" quota of {account.location} is {estate.quota // TIB} TiB."
        )


def refuse_busy_pool(pool: Pool) -> None:
    """Nothing begins on a pool while something works on it; one that has failed can be deleted."""
    if pool.busy:
        raise busy(f"capacity pool {pool.name}")


def refuse_pool_shape(level: Any, qos: Any, custom: Any) -> None:
    """Levels, and which QoS they can have."""
    if level not in RATES:
        raise bad(f"serviceLevel must be one of {', '.join(RATES)}.")
    if qos not in {"Auto", "Manual"}:
        raise bad("qosType must be Auto or Manual.")
    if level == "Flexible" and qos != "Manual":
        raise bad("Pools with service level Flexible must have qosType Manual.")
    if level != "Flexible" and custom is not None:
        raise bad("customThroughputMibps is only for pools with service level Flexible.")
    if custom is not None and custom < LEAST_FLEXIBLE:
        raise bad(f"customThroughputMibps must be at least {LEAST_FLEXIBLE:.0f}.")


def refuse_quota(estate: Estate, volume: Volume, quota: Any) -> None:
    """A volume has 50 GiB to 100 TiB, and fits into its pool."""
    if not isinstance(quota, int) or not LEAST_VOLUME <= quota <= LARGEST_VOLUME:
        raise bad("usageThreshold must be from 50 GiB to 100 TiB.")
    refuse_full(estate, volume.pool, quota - volume.quota)


def refuse_full(estate: Estate, pool: Pool, more: int) -> None:
    """Volumes fit into their pool."""
    taken = sum(each.quota for each in estate.volumes_of(pool))
    if taken + more > pool.size:
        raise bad(
            f"Unable to complete the operation. The capacity pool size of {pool.size} bytes is too"
            f" small for the combined volume size of {taken + more} bytes of the capacity pool."
        )


def refuse_throughput(estate: Estate, volume: Volume, wanted: Any) -> None:
    """Only in pools with manual QoS, as far as the pool has some left."""
    if volume.pool.qos != "Manual":
        raise bad("throughputMibps can only be set for volumes in pools with qosType Manual.")
    if not isinstance(wanted, int | float) or not 1 <= wanted <= MOST_THROUGHPUT:
        raise bad(f"throughputMibps must be from 1 to {MOST_THROUGHPUT:.0f}.")
    others = [each for each in estate.volumes_of(volume.pool) if each is not volume]
    left = volume.pool.throughput - sum(each.throughput for each in others)
    if wanted > left:
        raise bad(f"The pool has {left:g} MiB/s left, and {wanted:g} MiB/s are asked for.")


def refuse_move(estate: Estate, volume: Volume, target: Pool, now: datetime) -> None:
    """A move stays in its account, and waits before it goes down again."""
    source = volume.pool
    _refuse_busy(volume, target)
    if target is source:
        raise bad("The volume is in the specified pool already.")
    if target.account is not source.account:
        raise bad("The new pool must be in the same NetApp account as the volume.")
    if target.encryption != source.encryption:
        raise bad("The encryption type of the pools must be the same.")
    if "Flexible" in {source.level, target.level} and source.level != target.level:
        raise bad("Volumes cannot be moved between Flexible and other service levels.")
    is_down = RATES[target.level] < RATES[source.level]
    if is_down and volume.raised_at is not None and now < volume.raised_at + WAIT:
        raise bad(
            "The service level of the volume cannot be decreased yet: it was increased at"
            f" {volume.raised_at:%Y-%m-%dT%H:%M:%SZ}, and 24 hours have to pass."
        )
    refuse_full(estate, target, volume.quota)
    _refuse_slow_pool(estate, volume, target)


def _refuse_busy(volume: Volume, target: Pool) -> None:
    if volume.busy:
        raise busy(f"volume {volume.name}")
    for pool in (volume.pool, target):
        refuse_busy_pool(pool)


def _refuse_slow_pool(estate: Estate, volume: Volume, target: Pool) -> None:
    if target.qos != "Manual":
        return
    used = sum(each.throughput for each in estate.volumes_of(target))
    if used + volume.throughput > target.throughput:
        raise bad(
            f"The pool has {target.throughput - used:g} MiB/s left, and the volume takes"
            f" {volume.throughput:g} MiB/s."
        )
