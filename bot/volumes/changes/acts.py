"""The acts of a change, in order, and the state of each in Azure. Pure: no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.volumes.changes.plan import whole
from bot.volumes.changes.tables import ChangeKind, Direction, IdChange, VolumeChange
from bot.volumes.resources import AnfVolume, Pool, is_settled
from bot.volumes.wording import capacity, throughput

_MANUAL = "Manual"


@dataclass(frozen=True)
class Grow:
    """Grow the target pool for the volume, or the source pool by what was taken from it."""

    pool: str


@dataclass(frozen=True)
class Move:
    """Move the volume from one pool to another."""

    source: str
    target: str
    target_id: str


@dataclass(frozen=True)
class Throttle:
    """Set the throughput of the volume, in its current pool."""

    pool: str
    mibps: float


@dataclass(frozen=True)
class Shrink:
    """Shrink a pool by the size of the volume, or by the pool's own earlier growth."""

    pool: str


@dataclass(frozen=True)
class TellTrident:
    """Replace the first id by the second in Trident's record of the volume."""

    ids: IdChange


Act = Grow | Move | Throttle | Shrink | TellTrident


def acts(row: VolumeChange) -> tuple[Act, ...]:
    """The acts of a change in its current direction."""
    return _of_level(row) if row.kind == ChangeKind.LEVEL else _of_throughput(row)


def _of_level(row: VolumeChange) -> tuple[Act, ...]:
    grows, shrinks = row.grow_to is not None, row.shrink_to is not None
    found: tuple[tuple[bool, Act], ...]
    match row.direction:
        case Direction.THERE:
            move = Move(row.source_pool, row.target_pool, row.target_pool_id)
            found = (
                (grows, Grow(row.target_pool)),
                (True, move),
                (row.is_trident, TellTrident(row.ids(is_back=False))),
                (shrinks, Shrink(row.source_pool)),
            )
        case Direction.BACK:
            is_manual = row.source_qos == _MANUAL and row.mibps_before is not None
            back = Move(row.target_pool, row.source_pool, row.source_pool_id)
            found = (
                (shrinks, Grow(row.source_pool)),
                (True, back),
                (row.is_trident, TellTrident(row.ids(is_back=True))),
                (is_manual, Throttle(row.source_pool, row.mibps_before or 0)),
                (grows, Shrink(row.target_pool)),
            )
        case _:
            found = ((grows, Shrink(row.target_pool)),)
    return tuple(act for is_needed, act in found if is_needed)


def _of_throughput(row: VolumeChange) -> tuple[Act, ...]:
    match row.direction:
        case Direction.THERE:
            return (Throttle(row.target_pool, row.wanted_mibps or 0),)
        case Direction.BACK if row.mibps_before is not None:
            return (Throttle(row.target_pool, row.mibps_before),)
        case _:
            return ()


@dataclass(frozen=True)
class Reached:
    """The act is done; `remains` says what it left undone, `mibps` is the throughput in Azure."""

    remains: str = ""
    mibps: float | None = None


@dataclass(frozen=True)
class Busy:
    """Azure has an operation in progress on it."""

    what: str


@dataclass(frozen=True)
class Ready:
    """The request can be sent; for pools with the requested and the current size."""

    size_bytes: int | None = None
    size_now: int | None = None


@dataclass(frozen=True)
class Astray:
    """The act is impossible now; `is_gone` if the volume may be in the middle of a move."""

    why: str
    hint: str = ""
    is_gone: bool = False


State = Reached | Busy | Ready | Astray


def state_of_pool(
    row: VolumeChange, act: Grow | Shrink, pool: Pool | None, inside: Iterable[AnfVolume]
) -> State:
    """The state of the resize of a pool."""
    if pool is None:
        return Astray(f"Pool {act.pool} no longer exists in Azure.", "Check `/anf pools`.")
    if not is_settled(pool):
        return Busy(f"pool {pool.name}: {pool.state}")
    if row.is_begun and row.resize_to is not None:
        is_grown = isinstance(act, Grow) and pool.size_bytes >= row.resize_to
        is_shrunk = isinstance(act, Shrink) and pool.size_bytes <= row.resize_to
        there = Ready(row.resize_to, pool.size_bytes)
        return Reached() if is_grown or is_shrunk else there
    taken = sum(each.quota_bytes for each in inside)
    return _growth(row, pool, taken) if isinstance(act, Grow) else _shrinkage(row, pool, taken)


def _growth(row: VolumeChange, pool: Pool, taken: int) -> State:
    if row.direction == Direction.BACK:
        if row.shrunk_from is None or pool.size_bytes >= row.shrunk_from:
            return Reached()
        return Ready(row.shrunk_from, pool.size_bytes)
    needed, grow_to = taken + row.size_bytes, row.grow_to or 0
    if needed <= pool.size_bytes:
        return Reached()
    if needed > grow_to or grow_to - pool.size_bytes > row.grow_by:
        return Astray(
            f"Pool {pool.name} has changed since it was checked: it has"
            f" {capacity(pool.size_bytes)}, of which {capacity(taken)} is taken.",
            "Request it again, to be shown the larger growth first.",
        )
    return Ready(grow_to, pool.size_bytes)


def _shrinkage(row: VolumeChange, pool: Pool, taken: int) -> State:
    least = whole(taken)
    if row.direction == Direction.THERE:
        size = max(row.shrink_to or 0, least)
        stays = "" if size < pool.size_bytes else _stays(pool, taken)
        return Ready(size, pool.size_bytes) if not stays else Reached(stays)
    if row.grown_from is None or pool.size_bytes <= row.grown_from:
        return Reached()
    growth = (row.grow_to or row.grown_from) - row.grown_from
    size = max(pool.size_bytes - growth, least)
    if size >= pool.size_bytes:
        return Reached(_stays(pool, taken))
    return Ready(size, pool.size_bytes)


def _stays(pool: Pool, taken: int) -> str:
    return (
        f"Pool {pool.name} stays at {capacity(pool.size_bytes)}: its volumes take"
        f" {capacity(taken)}."
    )


def state_of_move(
    row: VolumeChange, act: Move, there: AnfVolume | None, here: AnfVolume | None
) -> State:
    """The state of a move, from the volumes at its target and its source."""
    if there is not None and _is_same(row, there):
        busy = Busy(f"volume {there.place.name}: {there.state}")
        return Reached(mibps=there.throughput_mibps) if is_settled(there) else busy
    if here is not None and _is_same(row, here):
        return Ready() if is_settled(here) else Busy(f"volume {here.place.name}: {here.state}")
    gone = f"Volume {row.volume_name} is no longer in pool {act.source} or {act.target}"
    if row.direction == Direction.BACK and not row.is_begun:
        return Reached(
            f"{gone}: it was moved or deleted outside Quartermaster, so it was not reverted."
        )
    return Astray(f"{gone}.", "Find it with `/anf show PVC`.", is_gone=True)


def state_of_throughput(row: VolumeChange, act: Throttle, volume: AnfVolume | None) -> State:
    """The state of setting the throughput of a volume."""
    if volume is None or not _is_same(row, volume):
        gone = f"Volume {row.volume_name} is no longer in pool {act.pool}"
        if row.direction == Direction.BACK:
            return Reached(
                f"{gone}: it was moved or deleted outside Quartermaster, so it was not reverted."
            )
        return Astray(f"{gone}.", "Find it with `/anf show PVC`.")
    if not is_settled(volume):
        return Busy(f"volume {volume.place.name}: {volume.state}")
    if volume.throughput_mibps == act.mibps:
        return Reached(mibps=act.mibps)
    is_of_others = row.kind == ChangeKind.THROUGHPUT and volume.throughput_mibps != row.mibps_seen
    if row.direction == Direction.BACK and not row.is_begun and is_of_others:
        return Reached(
            f"The throughput was set to {throughput(volume.throughput_mibps)} outside"
            " Quartermaster, so it was not reverted."
        )
    return Ready()


def _is_same(row: VolumeChange, volume: AnfVolume) -> bool:
    """Whether it is the volume of the change, not a later one of the same name."""
    return not row.file_system or volume.file_system == row.file_system
