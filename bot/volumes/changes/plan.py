"""Plans a change from the current state in Azure. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.config import Anf, AnfChanges
from bot.errors import ConflictError, LimitError
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.changes.targets import choose, throughput_left, whole
from bot.volumes.levels import RATES, estimated_throughput, monthly_price
from bot.volumes.matching import MatchedVolume, Named
from bot.volumes.moves import Record
from bot.volumes.resources import AnfVolume, Estate, Pool, is_settled
from bot.volumes.wording import throughput

MANUAL = "Manual"
_LEAST_MIBPS, MOST_MIBPS = 1, 4500


@dataclass(frozen=True)
class ChangeRequest:
    """A requested level, optionally with a pool, or a requested throughput."""

    kind: str
    level: str = ""
    pool: str = ""
    mibps: float | None = None
    is_shrinking: bool = False


@dataclass(frozen=True)
class ChangePlan:
    """What a change does; `cost_delta` is the monthly cost difference, None if unknown."""

    volume: AnfVolume
    source: Pool
    target: Pool
    mibps_after: float | None
    grow_to: int | None = None
    shrink_to: int | None = None
    cost_delta: float | None = 0.0
    needs_approval: bool = False
    is_trident: bool = False

    @property
    def growth_bytes(self) -> int:
        """The bytes that the target pool grows by."""
        return 0 if self.grow_to is None else self.grow_to - self.target.size_bytes


@dataclass(frozen=True)
class VolumeState:
    """The current state: Azure, the PV's name of the volume, and when it last went up.

    `record` is Trident's record, if Trident created the volume.
    """

    estate: Estate
    named: Named
    found: MatchedVolume
    went_up_at: datetime | None
    now: datetime
    record: Record | None = None


def make_plan(standing: VolumeState, wish: ChangeRequest, anf: Anf) -> ChangePlan:
    """The plan of a change; raises UserError if impossible."""
    estate, volume, changes = standing.estate, standing.found.volume, _allowed(anf)
    source = next((p for p in estate.pools if volume in estate.inside(p)), None)
    if source is None:
        raise ConflictError(
            f"The bot cannot see the pool of volume {volume.place.name} in Azure.", ""
        )
    if not is_settled(volume):
        raise ConflictError(
            f"Azure is working on the volume: {volume.state}.", "Try again when that is done."
        )
    if wish.kind == ChangeKind.THROUGHPUT:
        plan = _of_throughput(estate, volume, source, wish)
    else:
        plan = _of_level(standing, source, wish, anf)
    cost = plan.cost_delta
    costs = cost is None or cost > changes.approve_above
    is_asked = changes.approve == "always" or costs or plan.is_trident
    return replace(plan, needs_approval=is_asked)


def may_go_down(went_up_at: datetime | None, changes: AnfChanges) -> datetime | None:
    """When a volume may go to a lower level again; None if there is no wait."""
    return None if went_up_at is None else went_up_at + changes.wait_before_down


def goes_down(source_level: str, target_level: str) -> bool:
    """Whether a move is to a lower level."""
    return RATES.get(target_level, 0) < RATES.get(source_level, 0)


def _allowed(anf: Anf) -> AnfChanges:
    if anf.changes is None:
        raise ConflictError(
            "Changing levels and throughput is not enabled.",
            "A platform admin can add `anf.changes` to quartermaster.yaml; see docs/anf.md.",
        )
    return anf.changes


def _of_throughput(
    estate: Estate, volume: AnfVolume, pool: Pool, wish: ChangeRequest
) -> ChangePlan:
    wanted = wish.mibps or 0
    if pool.qos != MANUAL:
        rate = f", {RATES[pool.level]} MiB/s per TiB" if pool.level in RATES else ""
        raise ConflictError(
            f"Pool {pool.name} has automatic QoS: the throughput of a volume follows its size"
            f"{rate}.",
            "A larger volume or a higher level has more: `/anf level PVC LEVEL`.",
        )
    if not _LEAST_MIBPS <= wanted <= MOST_MIBPS:
        raise LimitError(
            f"A volume can have {_LEAST_MIBPS} to {MOST_MIBPS:,} MiB/s, not {throughput(wanted)}.",
            "Ask for a value in that range, for example `200`.",
        )
    if volume.throughput_mibps == wanted:
        raise ConflictError(
            f"The volume already has {throughput(wanted)}.", "Nothing was requested."
        )
    left = throughput_left(estate, pool, volume)
    if left is not None and wanted > left:
        raise LimitError(
            f"Pool {pool.name} has {throughput(left)} for this volume, of"
            f" {throughput(pool.throughput_mibps)}: its other volumes have the rest.",
            "Ask for less, or lower another volume's throughput first.",
        )
    return ChangePlan(volume, pool, pool, wanted)


def _of_level(standing: VolumeState, source: Pool, wish: ChangeRequest, anf: Anf) -> ChangePlan:
    estate, volume = standing.estate, standing.found.volume
    if source.level == wish.level and not wish.pool:
        raise ConflictError(
            f"The volume is already on {source.level}, in pool {source.name}.",
            "To move it to another pool of that level, name the pool with --pool.",
        )
    _refuse_trident(standing)
    _refuse_waiting(standing, source, wish, _allowed(anf))
    target, grow_to = choose(estate, volume, source, (wish.level, wish.pool))
    shrink_to = smaller(estate, volume, source) if wish.is_shrinking else None
    is_manual = target.qos == MANUAL
    by_size = estimated_throughput(target.level, volume.quota_bytes)
    return ChangePlan(
        volume,
        source,
        target,
        volume.throughput_mibps if is_manual else by_size,
        grow_to,
        shrink_to,
        _cost(anf, {target: grow_to, source: shrink_to}),
        is_trident=bool(standing.named.id),
    )


def smaller(estate: Estate, volume: AnfVolume, source: Pool) -> int | None:
    """The size that the pool can shrink to without the volume, by at most the volume's size."""
    rest = estate.taken_bytes(source) - volume.quota_bytes
    size = max(whole(rest), source.size_bytes - whole(volume.quota_bytes))
    return size if size < source.size_bytes else None


def _cost(anf: Anf, sizes: Mapping[Pool, int | None]) -> float | None:
    total = 0.0
    for pool, size in sizes.items():
        if size is None:
            continue
        before, after = (monthly_price(anf, pool.level, each) for each in (pool.size_bytes, size))
        if before is None or after is None:
            return None
        total += after - before
    return total


def _refuse_trident(standing: VolumeState) -> None:
    """Raises ConflictError if a move needs an update of Trident's record that is impossible."""
    record, volume = standing.record, standing.found.volume
    if not standing.named.id and not volume.maker:
        return
    if record is not None and record.unread:
        raise ConflictError(
            f"Trident created this volume, and could not be told of a move: {record.unread}",
            "A platform admin has to apply deploy/kubernetes/18-trident.yaml; see docs/anf.md.",
        )
    if record is None or record.source or not record.id:
        raise ConflictError(
            "Trident created this volume, but keeps its record for another PV. A move changes the"
            " Azure id, and the bot could not tell Trident the new one.",
            "Move the PVC that Trident created the volume for.",
        )
    if record.is_stale(volume.id):
        raise ConflictError(
            "Trident does not know where this volume is now.",
            "An admin has to repair that first: `/anf repair PVC`.",
        )


def _refuse_waiting(
    standing: VolumeState, source: Pool, wish: ChangeRequest, changes: AnfChanges
) -> None:
    since = may_go_down(standing.went_up_at, changes)
    if since is None or standing.now >= since or not goes_down(source.level, wish.level):
        return
    raise ConflictError(
        f"The volume recently went up to {source.level}. Azure allows a lower level again"
        f" from {since:%Y-%m-%d %H:%M} UTC.",
        "Request it again then. A level requested with --for is reverted automatically.",
    )
