"""The effect of a quota change on queues, and the workloads above a quota."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from bot.quotas.engines.admission import Item
from bot.quotas.engines.cohorts import available
from bot.quotas.engines.engine import LATEST, ZERO, Figures, Queues
from bot.quotas.tables import Mode, Override

_MOST_SHOWN = 5


class Outlook(StrEnum):
    """What a quota change would mean for a pending workload."""

    STARTS = "starts"
    RECLAIMS = "reclaims"
    LACKS_NODES = "lacks_nodes"
    WAITS = "waits"


@dataclass(frozen=True)
class Prospect:
    """A pending workload, and what the change would mean for it; None if unknown."""

    name: str
    gpus: Decimal
    outlook: Outlook | None


@dataclass(frozen=True)
class Effect:
    """What an override changes, in GPUs; None where unknown.

    `taker` and `donor` are the figures before and after it.
    """

    taker: tuple[Figures, Figures]
    donor: tuple[Figures, Figures] | None
    nominal_sum: Decimal
    allocatable: Decimal | None
    borrowers: tuple[Figures, ...]
    prospects: tuple[Prospect, ...] | None


def foresee(queues: Queues, row: Override, totals: Mapping[str, Decimal]) -> Effect | None:
    """What the override would change now; None if its queues were not found.

    `totals` are the values that would be written, by queue.
    """
    flavor = [each for each in queues.figures() if each.flavor == row.flavor]
    known = {each.queue: each for each in flavor}
    before = known.get(row.queue)
    given = known.get(row.donor_queue) if row.donor_queue else None
    if before is None or (row.donor_queue and given is None):
        return None
    after = _changed(before, row, totals[row.queue])
    donor = (given, replace(given, nominal=totals[given.queue])) if given else None
    changed = {after.queue: after} | ({donor[1].queue: donor[1]} if donor else {})
    pool = [changed.get(each.queue, each) for each in queues.pool(before)]
    allocatable = queues.allocatable(row.flavor)
    free = _free_nodes(allocatable, flavor)
    return Effect(
        taker=(before, after),
        donor=donor,
        nominal_sum=sum((changed.get(each.queue, each).nominal for each in flavor), ZERO),
        allocatable=allocatable,
        borrowers=tuple(each for each in pool if each.borrowed and each.queue != row.queue),
        prospects=_prospects(queues, after, pool, free),
    )


def above_quota(
    queues: Queues, queue: str, flavor: str, nominal: Decimal, most: Decimal
) -> list[Item]:
    """Workloads of a (queue, flavor) to stop so that it keeps to `nominal`, latest ones first.

    The lowest priorities come first. Together they hold no more than `most`, the part that an
    override gave, unless the last one exceeds it.
    """
    held = [(each, each.held(flavor)) for each in queues.admitted(queue)]
    over = min(sum((gpus for _, gpus in held), ZERO) - nominal, most)
    held.sort(key=lambda each: each[0].reserved_at or LATEST, reverse=True)
    held.sort(key=lambda each: each[0].priority)
    chosen: list[Item] = []
    for item, gpus in held:
        if over > 0 and gpus > 0:
            chosen.append(item)
            over -= gpus
    return chosen


def _changed(before: Figures, row: Override, total: Decimal) -> Figures:
    if row.mode == Mode.BORROWING_LIMIT:
        return replace(before, borrowing_limit=total)
    return replace(before, nominal=total)


def _free_nodes(allocatable: Decimal | None, flavor: Sequence[Figures]) -> Decimal | None:
    taken = [each.reserved for each in flavor if each.reserved is not None]
    if allocatable is None or len(taken) < len(flavor):
        return None
    return allocatable - sum(taken, ZERO)


def _prospects(
    queues: Queues, own: Figures, pool: Sequence[Figures], free: Decimal | None
) -> tuple[Prospect, ...] | None:
    waiting = queues.waiting(own.queue)
    if waiting is None:
        return None
    found = []
    for item in waiting.items[:_MOST_SHOWN]:
        gpus = item.gpus
        outlook = _outlook(own, pool, gpus, free)
        found.append(Prospect(item.name, gpus, outlook))
        if outlook in {Outlook.STARTS, Outlook.RECLAIMS}:
            own = replace(own, reserved=(own.reserved or ZERO) + gpus)
            free = None if free is None else free - gpus
            pool = [own if each.queue == own.queue else each for each in pool]
    return tuple(found)


def _outlook(
    own: Figures, pool: Sequence[Figures], gpus: Decimal, free: Decimal | None
) -> Outlook | None:
    there = available(own, pool)
    if own.reserved is None or there is None:
        return None
    own_free = own.nominal - own.reserved
    if gpus <= there:
        return Outlook.LACKS_NODES if free is not None and gpus > free else Outlook.STARTS
    return Outlook.RECLAIMS if own.reclaims and gpus <= own_free else Outlook.WAITS
