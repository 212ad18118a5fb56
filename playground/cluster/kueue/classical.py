"""Preemption without fair sharing: those nearer to the quota reclaim it from those who borrow."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from playground.cluster.kueue.preemption import (
    IN_QUEUE,
    RECLAMATION,
    WHILE_BORROWING,
    Need,
    Target,
    push_out,
    put_back,
)
from playground.cluster.kueue.quota import Cell, Node, Queue
from playground.cluster.kueue.workloads import Usage, is_evicted, priority_of
from playground.cluster.objects.kinds import Object

_ZERO = Decimal(0)


@dataclass(frozen=True)
class _Candidate:
    """Somebody who may be pushed out; `common` is the nearest cohort shared with the queue."""

    target: Target
    common: Node | None = None
    only_without_borrowing: bool = False


def choose_targets(need: Need) -> list[Target]:
    """The Workloads to push out so that one fits; none if that cannot be reached."""
    own = [_Candidate(Target(w, need.queue, IN_QUEUE)) for w in need.candidates(need.queue)]
    nearer, others = _of_cohort(need)
    for borrowing in _ways(need, nearer, others):
        targets = _fewest(need, _in_order(need, nearer, others, own), borrowing=borrowing)
        if targets:
            return targets
    return []


def borrowing_height(queue: Queue, cell: Cell, amount: Decimal) -> tuple[int, bool]:
    """How far up the tree so much must be borrowed from, and whether a higher cohort is left."""
    if queue.parent is None or not queue.exceeds(cell, amount):
        return 0, queue.parent is not None
    left = amount - queue.kept_free(cell)
    for cohort in queue.ancestors:
        if not cohort.exceeds(cell, left):
            return cohort.height, cohort.parent is not None
        left -= cohort.kept_free(cell)
    return queue.root.height, False


def _ways(need: Need, nearer: list[_Candidate], others: list[_Candidate]) -> tuple[bool, ...]:
    """Whether the Workload may borrow after the preemption, in the order in which it is tried."""
    may_borrow = (need.queue.policies.get("borrowWithinCohort") or {}).get("policy", "Never")
    forbidden = may_borrow == "Never"
    below = all(need.queue.used[cell] < need.queue.quota.get(cell, _ZERO) for cell in need.short)
    if not (nearer or others) or (forbidden and not below):
        return (True,)
    return (False, True) if forbidden and not nearer else (True, False)


def _in_order(need: Need, *groups: list[_Candidate]) -> Iterator[_Candidate]:
    """Those already leaving first, then group by group."""
    ordered = [sorted(group, key=partial(_place, need)) for group in groups]
    for leaving in (True, False):
        for group in ordered:
            yield from (c for c in group if is_evicted(c.target.workload) is leaving)


def _place(need: Need, candidate: _Candidate) -> tuple[bool, bool, int, float, str]:
    return need.first_to_go(candidate.target.workload)


def _fewest(need: Need, candidates: Iterator[_Candidate], *, borrowing: bool) -> list[Target]:
    targets: list[Target] = []
    for candidate in candidates:
        if not _still_counts(need, candidate, borrowing=borrowing):
            continue
        push_out(candidate.target)
        targets.append(candidate.target)
        if need.fits(borrowing=borrowing):
            return need.fewest(targets, borrowing=borrowing)
    for target in targets:
        put_back(target)
    return []


def _still_counts(need: Need, candidate: _Candidate, *, borrowing: bool) -> bool:
    queue = candidate.target.queue
    if queue is need.queue:
        return True
    if (borrowing and candidate.only_without_borrowing) or need.within_quota(queue):
        return False
    for cohort in queue.ancestors:
        if cohort is candidate.common:
            break
        if need.within_quota(cohort):
            return False
    return True


def _of_cohort(need: Need) -> tuple[list[_Candidate], list[_Candidate]]:
    """Those over whom the queue has an advantage by its place in the tree, and all others."""
    nearer: list[_Candidate] = []
    others: list[_Candidate] = []
    advantage, left = _fits_quota(need.queue, need.usage)
    seen: Node | None = None
    for cohort in need.queue.ancestors:
        for queue in _over_quota(need, cohort, seen):
            for workload in need.candidates(queue):
                if advantage:
                    nearer.append(_Candidate(Target(workload, queue, RECLAMATION), cohort))
                else:
                    others.append(_without_advantage(need, workload, queue, cohort))
        fits, left = _fits_quota(cohort, left)
        advantage = advantage or fits
        seen = cohort
    return nearer, others


def _without_advantage(need: Need, workload: Object, queue: Queue, common: Node) -> _Candidate:
    rule = need.queue.policies.get("borrowWithinCohort") or {}
    threshold = rule.get("maxPriorityThreshold")
    protected = (
        rule.get("policy", "Never") == "Never"
        or priority_of(workload) >= priority_of(need.workload)
        or (threshold is not None and priority_of(workload) > threshold)
    )
    reason = RECLAMATION if protected else WHILE_BORROWING
    return _Candidate(Target(workload, queue, reason), common, only_without_borrowing=protected)


def _over_quota(need: Need, cohort: Node, seen: Node | None) -> Iterator[Queue]:
    """The queues of a cohort that exceed their quota, without a part that was looked at."""
    for child in cohort.cohorts:
        if child is not seen and not need.within_quota(child):
            yield from _over_quota(need, child, seen)
    for queue in cohort.queues:
        if queue is not need.queue and not need.within_quota(queue):
            yield queue


def _fits_quota(node: Node, usage: Usage) -> tuple[bool, Usage]:
    """Whether usage is within the quota of a node, and what it leaves for the cohort above."""
    fits = not any(node.exceeds(cell, amount) for cell, amount in usage.items())
    left = {cell: max(_ZERO, amount - node.kept_free(cell)) for cell, amount in usage.items()}
    return fits, left
