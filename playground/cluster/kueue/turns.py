"""Which of the queues' first Workloads is served first."""

from dataclasses import dataclass, field

from playground.cluster.kueue.flavors import Attempt
from playground.cluster.kueue.preemption import Target
from playground.cluster.kueue.quota import Node, Queue
from playground.cluster.kueue.shares import Share, share_of
from playground.cluster.kueue.workloads import order
from playground.cluster.objects.kinds import Object


@dataclass
class Entry:
    """The first Workload of a queue, and how it could be placed."""

    queue: Queue
    workload: Object
    attempt: Attempt
    targets: list[Target] = field(default_factory=list)


def classical_turn(entries: list[Entry]) -> Entry:
    """The one nearest to its own quota, then by priority and time."""
    return min(entries, key=lambda e: (e.attempt.borrowing, *order(e.workload)))


def fair_turn(entries: list[Entry]) -> Entry:
    """The winner of a tournament up the cohorts: the lowest share with its Workload admitted."""
    root = entries[0].queue.root
    if entries[0].queue.parent is None:
        return entries[0]
    inside = [e for e in entries if e.queue.parent is not None and e.queue.root is root]
    shares: dict[tuple[str, str], Share] = {}
    for entry in inside:
        with entry.queue.holding(entry.attempt.usage):
            below: Node = entry.queue
            for cohort in entry.queue.ancestors:
                shares[cohort.name, entry.queue.name] = share_of(below)
                below = cohort
    found = _winner(root, {entry.queue.name: entry for entry in inside}, shares)
    return found or entries[0]


def _winner(
    cohort: Node, entries: dict[str, Entry], shares: dict[tuple[str, str], Share]
) -> Entry | None:
    below = [_winner(child, entries, shares) for child in cohort.cohorts]
    below += [entries.get(queue.name) for queue in cohort.queues]

    def place(entry: Entry) -> tuple[object, ...]:
        share = shares[cohort.name, entry.queue.name]
        return share.borrows_any_of(entry.attempt.usage), share.rank, *order(entry.workload)

    return min((entry for entry in below if entry is not None), key=place, default=None)
