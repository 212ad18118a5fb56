"""Preemption under fair sharing: the highest share gives first, by the strategies configured."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from playground.cluster.kueue.configuration import FINAL_SHARE, FairSharing
from playground.cluster.kueue.preemption import (
    FAIR_SHARING,
    IN_QUEUE,
    RECLAMATION,
    Need,
    Target,
    Victims,
    push_out,
    put_back,
)
from playground.cluster.kueue.quota import Node, Queue, queue_name
from playground.cluster.kueue.shares import share_of
from playground.cluster.kueue.workloads import held
from playground.cluster.objects.kinds import Object

Rank = tuple[bool, float]
_LOWEST: Rank = (False, -1.0)


def fair_victims(rule: FairSharing) -> Victims:
    """Chooses whom to push out, by the strategies of a configuration."""
    return partial(choose_targets, rule.preemption_strategies)


def choose_targets(strategies: tuple[str, ...], need: Need) -> list[Target]:
    """The Workloads to push out so that one fits; none if that would not be fair."""
    candidates = sorted(_candidates(need), key=need.first_to_go)
    if not candidates:
        return []
    found = _Search(need)
    with need.queue.holding(need.usage):
        fits = found.by_first(strategies[0], candidates)
        if not fits and len(strategies) > 1:
            fits = found.by_initial_share()
    if fits:
        return need.fewest(found.targets)
    for target in found.targets:
        put_back(target)
    return []


def _candidates(need: Need) -> list[Object]:
    found = need.candidates(need.queue)
    if need.queue.parent is not None:
        for queue in need.queue.root.subtree():
            if queue is not need.queue and any(queue.borrowed(cell) for cell in need.short):
                found += need.candidates(queue)
    return found


class _Search:
    """Pushes out one after another; the wanted usage is counted while it searches."""

    def __init__(self, need: Need) -> None:
        self._need = need
        self._left: list[Object] = []
        self.targets: list[Target] = []

    def by_first(self, strategy: str, candidates: list[Object]) -> bool:
        """Whether it fits after those have gone whom the first strategy names."""
        need = self._need
        entitled = need.within_quota(need.queue)
        turns = _Turns(need, candidates)
        for queue in turns:
            if queue is need.queue or entitled:
                reason = IN_QUEUE if queue is need.queue else RECLAMATION
                fits = self._push(turns.pop(queue), queue, reason)
            else:
                fits = self._push_fairly(strategy, turns, queue)
            if fits:
                return True
        return False

    def by_initial_share(self) -> bool:
        """The second strategy: whoever is left gives if its share before was the higher one."""
        turns = _Turns(self._need, self._left)
        for queue in turns:
            mine, theirs = _branches(self._need.queue, queue)
            workload = turns.pop(queue)
            below = share_of(mine).rank < share_of(theirs).rank
            if below and self._push(workload, queue, FAIR_SHARING):
                return True
            turns.drop(queue)
        return False

    def _push_fairly(self, strategy: str, turns: "_Turns", queue: Queue) -> bool:
        """Pushes out the first of a queue that the strategy names; others are kept for later."""
        mine, theirs = _branches(self._need.queue, queue)
        my_share, before = share_of(mine).rank, share_of(theirs).rank
        while turns.has(queue):
            workload = turns.pop(queue)
            with queue.lacking(held(workload)):
                after = share_of(theirs).rank
            if my_share <= after if strategy == FINAL_SHARE else my_share < before:
                return self._push(workload, queue, FAIR_SHARING)
            self._left.append(workload)
        return False

    def _push(self, workload: Object, queue: Queue, reason: str) -> bool:
        target = Target(workload, queue, reason)
        push_out(target)
        self.targets.append(target)
        with self._need.queue.lacking(self._need.usage):
            return self._need.fits()


class _Turns:
    """Whose turn it is to give: the queue with the highest share, on the way down from the top."""

    def __init__(self, need: Need, candidates: list[Object]) -> None:
        self._need = need
        self._above = list(need.queue.ancestors)
        self._done: set[Node] = set()
        self._lines: dict[str, list[Object]] = defaultdict(list)
        for workload in candidates:
            self._lines[queue_name(workload)].append(workload)

    def __iter__(self) -> Iterator[Queue]:
        queue = self._need.queue
        if queue.parent is None:
            while queue not in self._done and self.has(queue):
                yield queue
            return
        while queue.root not in self._done:
            found = self._next(queue.root)
            if found is not None:
                yield found

    def has(self, queue: Queue) -> bool:
        """Whether a queue has candidates left."""
        return bool(self._lines[queue.name])

    def pop(self, queue: Queue) -> Object:
        """The next candidate of a queue."""
        return self._lines[queue.name].pop(0)

    def drop(self, queue: Queue) -> None:
        """Gives a queue no further turn."""
        self._done.add(queue)

    def _next(self, cohort: Node) -> Queue | None:
        queue, share = self._highest_queue(cohort)
        child, child_share = self._highest_cohort(cohort)
        if child is not None and child_share >= share:
            return self._next(child)
        if queue is None:
            self._done.add(cohort)
        return queue

    def _highest_queue(self, cohort: Node) -> tuple[Queue | None, Rank]:
        best: Queue | None = None
        highest = _LOWEST
        for queue in cohort.queues:
            if queue in self._done:
                continue
            share = share_of(queue)
            if not self.has(queue) or not (share.borrowed or queue is self._need.queue):
                self._done.add(queue)
            elif best is None or share.rank > highest:
                best, highest = queue, share.rank
            elif share.rank == highest and self._first_to_go(queue) < self._first_to_go(best):
                best = queue
        return best, highest

    def _highest_cohort(self, cohort: Node) -> tuple[Node | None, Rank]:
        best: Node | None = None
        highest = _LOWEST
        for child in cohort.cohorts:
            if child in self._done:
                continue
            share = share_of(child)
            if not share.borrowed and child not in self._above:
                self._done.add(child)
            elif share.rank >= highest:
                best, highest = child, share.rank
        return best, highest

    def _first_to_go(self, queue: Queue) -> tuple[bool, bool, int, float, str]:
        return self._need.first_to_go(self._lines[queue.name][0])


def _branches(queue: Queue, other: Queue) -> tuple[Node, Node]:
    """The parts of the tree that two queues are in, just below the cohort they have in common."""
    above = list(queue.ancestors)
    common = next(cohort for cohort in other.ancestors if cohort in above)
    return _below(queue, common), _below(other, common)


def _below(queue: Queue, common: Node) -> Node:
    node: Node = queue
    for cohort in queue.ancestors:
        if cohort is common:
            break
        node = cohort
    return node
