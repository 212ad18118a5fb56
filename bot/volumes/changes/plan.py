"""Plans a change from the current state in Azure: the pool to move to, and its size. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.config import Anf, AnfChanges
from bot.errors import ConflictError, LimitError, NotFoundError, QuartermasterError, UserError
from bot.slack.grammar.reading import closest
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.levels import RATES, estimated_throughput, monthly_price
from bot.volumes.matching import MatchedVolume, Named
from bot.volumes.moves import Record
from bot.volumes.resources import AnfVolume, Estate, Pool, is_settled, same_account
from bot.volumes.wording import GIB, capacity, throughput

MANUAL = "Manual"
_LEAST_MIBPS, MOST_MIBPS = 1, 4500
TIB = 1024 * GIB
LARGEST_POOL = 2048 * TIB
_FLEXIBLE, _MANUAL = "Flexible", "Manual"


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


def make_plan(state: VolumeState, request: ChangeRequest, anf: Anf) -> ChangePlan:
    """The plan of a change; raises UserError if impossible."""
    estate, volume, changes = state.estate, state.found.volume, _allowed(anf)
    source = next((p for p in estate.pools if volume in estate.inside(p)), None)
    if source is None:
        raise ConflictError(
            f"The bot cannot see the pool of volume {volume.place.name} in Azure.", ""
        )
    if not is_settled(volume):
        raise ConflictError(
            f"Azure is working on the volume: {volume.state}.", "Try again when that is done."
        )
    if request.kind == ChangeKind.THROUGHPUT:
        plan = _of_throughput(estate, volume, source, request)
    else:
        plan = _of_level(state, source, request, anf)
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
    estate: Estate, volume: AnfVolume, pool: Pool, request: ChangeRequest
) -> ChangePlan:
    wanted = request.mibps or 0
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


def _of_level(state: VolumeState, source: Pool, request: ChangeRequest, anf: Anf) -> ChangePlan:
    estate, volume = state.estate, state.found.volume
    if source.level == request.level and not request.pool:
        raise ConflictError(
            f"The volume is already on {source.level}, in pool {source.name}.",
            "To move it to another pool of that level, name the pool with --pool.",
        )
    _refuse_trident(state)
    _refuse_waiting(state, source, request, _allowed(anf))
    target, grow_to = choose(estate, volume, source, request.level, request.pool)
    shrink_to = smaller(estate, volume, source) if request.is_shrinking else None
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
        is_trident=bool(state.named.id),
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


def _refuse_trident(state: VolumeState) -> None:
    """Raises ConflictError if a move needs an update of Trident's record that is impossible."""
    record, volume = state.record, state.found.volume
    if not state.named.id and not volume.maker:
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
    state: VolumeState, source: Pool, request: ChangeRequest, changes: AnfChanges
) -> None:
    since = may_go_down(state.went_up_at, changes)
    if since is None or state.now >= since or not goes_down(source.level, request.level):
        return
    raise ConflictError(
        f"The volume recently went up to {source.level}. Azure allows a lower level again"
        f" from {since:%Y-%m-%d %H:%M} UTC.",
        "Request it again then. A level requested with --for is reverted automatically.",
    )


def whole(count: int) -> int:
    """The smallest pool size for that many bytes: pools are sized in whole TiB."""
    return max(-(-count // TIB), 1) * TIB


def beside(estate: Estate, source: Pool) -> list[Pool]:
    """The other pools of a pool's account, which its volumes can move to."""
    return [
        each
        for each in estate.pools
        if same_account(each.place, source.place) and each.id != source.id
    ]


def choose(
    estate: Estate, volume: AnfVolume, source: Pool, level: str, name: str
) -> tuple[Pool, int | None]:
    """The pool of a level or a name, and the size it has to grow to, or None if it need not grow.

    Prefers pools with automatic QoS, where the level counts, then the one that has to grow least,
    then the one with the most free space. Raises UserError if there is none.
    """
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
