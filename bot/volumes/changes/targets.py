"""Chooses the pool that a volume moves to, and the size it has to have. Pure: no I/O."""

from collections.abc import Sequence

from bot.errors import ConflictError, LimitError, NotFoundError, QuartermasterError, UserError
from bot.slack.reading import closest
from bot.volumes.levels import estimated_throughput
from bot.volumes.resources import AnfVolume, Estate, Pool, is_settled
from bot.volumes.wording import GIB, capacity, throughput

TIB = 1024 * GIB
LARGEST_POOL = 2048 * TIB
_FLEXIBLE, _MANUAL = "Flexible", "Manual"


def whole(count: int) -> int:
    """The smallest pool size for that many bytes: pools are sized in whole TiB."""
    return max(-(-count // TIB), 1) * TIB


def beside(estate: Estate, source: Pool) -> list[Pool]:
    """The other pools of a pool's account, which its volumes can move to."""
    account = [each.lower() for each in source.place[:2]]
    return [
        each
        for each in estate.pools
        if [part.lower() for part in each.place[:2]] == account and each.id != source.id
    ]


def choose(
    estate: Estate, volume: AnfVolume, source: Pool, wanted: tuple[str, str]
) -> tuple[Pool, int | None]:
    """The pool of a level or a name, and the size it has to grow to, or None if it need not grow.

    Prefers pools with automatic QoS, where the level counts, then the one that has to grow least,
    then the one with the most free space. Raises UserError if there is none.
    """
    level, name = wanted
    candidates = _named(beside(estate, source), source, level, name)
    fitting: list[tuple[bool, int, int, Pool, int | None]] = []
    refusal: UserError | None = None
    for pool in candidates:
        try:
            grow_to = room(estate, volume, source, pool)
        except UserError as error:
            refusal = refusal or error
            continue
        growth = 0 if grow_to is None else grow_to - pool.size_bytes
        free = pool.size_bytes - estate.taken_bytes(pool)
        fitting.append((pool.qos == _MANUAL, growth, -free, pool, grow_to))
    if not fitting:
        raise refusal or _none(estate, source, level)
    *_, pool, grow_to = min(fitting, key=lambda each: (*each[:3], each[3].name))
    return pool, grow_to


def room(estate: Estate, volume: AnfVolume, source: Pool, target: Pool) -> int | None:
    """The size that a pool has to grow to for a volume; None if the volume fits."""
    if _FLEXIBLE in {source.level, target.level} and source.level != target.level:
        raise ConflictError(
            f"Pool {target.name} is {target.level} and {source.name} is {source.level}: volumes"
            " cannot move between Flexible and other levels.",
            "In a Flexible pool, set the throughput: `/anf throughput PVC MIB-PER-SECOND`.",
        )
    if target.encryption.lower() != source.encryption.lower():
        raise ConflictError(
            f"Pool {target.name} has encryption {target.encryption}, but {source.name} has"
            f" {source.encryption}: volumes cannot move between them.",
            "Find another pool with `/anf pools`, and name it with --pool.",
        )
    if not is_settled(target):
        raise ConflictError(f"Azure is working on pool {target.name}: {target.state}.",
                            "Try again when that is done.")  # fmt: skip
    needed = estate.taken_bytes(target) + volume.quota_bytes
    grow_to = None if needed <= target.size_bytes else whole(needed)
    if grow_to is not None and grow_to > LARGEST_POOL:
        raise LimitError(
            f"Pool {target.name} would have to be {capacity(grow_to)}; a pool can have"
            f" at most {capacity(LARGEST_POOL)}.",
            "An admin can create another pool of that level.",
        )
    _refuse_slow(estate, volume, target, grow_to or target.size_bytes)
    return grow_to


def throughput_left(estate: Estate, pool: Pool, volume: AnfVolume) -> float | None:
    """The throughput that a pool has left for a volume, including its own; None if unknown."""
    if pool.throughput_mibps is None:
        return None
    others = [each for each in estate.inside(pool) if each.id.lower() != volume.id.lower()]
    return pool.throughput_mibps - sum(each.throughput_mibps or 0 for each in others)


def _refuse_slow(estate: Estate, volume: AnfVolume, target: Pool, size_bytes: int) -> None:
    """Raises LimitError if a pool with manual QoS has too little throughput for the volume."""
    left = throughput_left(estate, target, volume)
    if target.qos != _MANUAL or left is None or volume.throughput_mibps is None:
        return
    by_size = estimated_throughput(target.level, size_bytes - target.size_bytes) or 0
    if volume.throughput_mibps > left + by_size:
        raise LimitError(
            f"Pool {target.name} has {throughput(left + by_size)} left, but the volume needs"
            f" {throughput(volume.throughput_mibps)}.",
            "Choose another pool, or lower the throughput first:"
            " `/anf throughput PVC MIB-PER-SECOND`.",
        )


def _named(others: Sequence[Pool], source: Pool, level: str, name: str) -> list[Pool]:
    if not name:
        return [each for each in others if each.level == level]
    found = [each for each in others if each.name.lower() == name.lower()]
    if not found and source.name.lower() == name.lower():
        raise ConflictError(
            f"The volume is already in pool {source.name}.", "Nothing was requested."
        )
    if not found:
        raise _unknown(others, source, name)
    if found[0].level != level:
        raise ConflictError(
            f"Pool {found[0].name} is {found[0].level}, not {level}.",
            "Name the level of the pool, or omit --pool.",
        )
    return found


def _unknown(others: Sequence[Pool], source: Pool, name: str) -> QuartermasterError:
    there = [each.name for each in others]
    near = closest(name, there)
    hint = f"Its other pools: {', '.join(there)}." if there else "It has no other pool."
    return NotFoundError(
        f"Account {source.place.account} has no pool {name}.",
        f"Did you mean {near}?" if near else hint,
    )


def _none(estate: Estate, source: Pool, level: str) -> UserError:
    others = beside(estate, source)
    there = ", ".join(f"{each.name} ({each.level})" for each in others) or "none"
    return NotFoundError(
        f"Account {source.place.account} has no other pool of level {level}.",
        f"Its other pools: {there}. An admin can create one in Azure.",
    )
