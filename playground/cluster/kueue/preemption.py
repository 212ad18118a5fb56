"""What every way to push Workloads out has in common: who may be, in which order, and words."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from playground.cluster.control.loop import moment_of
from playground.cluster.kueue.quota import Cell, Node, Queue, queue_name
from playground.cluster.kueue.workloads import Usage, held, is_evicted, order, priority_of
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.kinds import Object

IN_QUEUE, RECLAMATION = "InClusterQueue", "InCohortReclamation"
FAIR_SHARING, WHILE_BORROWING = "InCohortFairSharing", "InCohortReclaimWhileBorrowing"
WORDS = {
    IN_QUEUE: "prioritization in the ClusterQueue",
    RECLAMATION: "reclamation within the cohort",
    FAIR_SHARING: "Fair Sharing within the cohort",
    WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


@dataclass(frozen=True)
class Target:
    """A Workload to be pushed out, and why."""

    workload: Object
    queue: Queue
    reason: str


@dataclass(frozen=True)
class Need:
    """What a Workload would take in its queue, and of which cells there is not enough."""

    queue: Queue
    workload: Object
    usage: Usage
    short: frozenset[Cell]

    def fits(self, *, borrowing: bool = True) -> bool:
        """Whether it fits now."""
        return self.queue.fits(self.usage, borrowing=borrowing)

    def within_quota(self, node: Node) -> bool:
        """Whether a node uses no more than its quota of what is short."""
        return not any(node.exceeds(cell) for cell in self.short)

    def candidates(self, queue: Queue) -> list[Object]:
        """Whom the preemption policies let this one push out of a queue."""
        own = queue is self.queue
        field = "withinClusterQueue" if own else "reclaimWithinCohort"
        policy = self.queue.policies.get(field, "Never")
        return [
            other
            for other in queue.workloads
            if _allows(policy, self.workload, other)
            and any(cell in held(other) for cell in self.short)
        ]

    def first_to_go(self, other: Object) -> tuple[bool, bool, int, float, str]:
        """The order of victims: those already leaving, other queues', low priority, newest."""
        row = condition(other, "QuotaReserved") or {}
        since: datetime = moment_of(row["lastTransitionTime"])
        return (
            not is_evicted(other),
            queue_name(other) == self.queue.name,
            priority_of(other),
            -since.timestamp(),
            other["metadata"]["uid"],
        )

    def fewest(self, targets: list[Target], *, borrowing: bool = True) -> list[Target]:
        """Puts back, from the last but one on, whom it fits without; all are removed before.

        Whoever is left is counted again.
        """
        kept = list(targets)
        for target in reversed(targets[:-1]):
            put_back(target)
            if self.fits(borrowing=borrowing):
                kept.remove(target)
            else:
                push_out(target)
        for target in kept:
            put_back(target)
        return kept


Victims = Callable[[Need], list[Target]]


def push_out(target: Target) -> None:
    """Counts what a target holds no longer."""
    target.queue.remove(held(target.workload))


def put_back(target: Target) -> None:
    """Counts it again."""
    target.queue.add(held(target.workload))


def message_for(workload: Object, queue: Queue, target: Target) -> str:
    """What the evicted Workload is told."""
    uid, labels = workload["metadata"]["uid"], workload["metadata"].get("labels", {})
    owner = labels.get("kueue.x-k8s.io/job-uid", "UNKNOWN")
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {owner}) due to "
        f"{WORDS[target.reason]}; preemptor path: {_path(queue)}; preemptee path: "
        f"{_path(target.queue)}"
    )


def _path(queue: Queue) -> str:
    names = [queue.name, *(above.name for above in queue.ancestors)]
    return "/" + "/".join(reversed(names))


def _allows(policy: str, workload: Object, other: Object) -> bool:
    if policy == "Any":
        return True
    if policy == "Never":
        return False
    if priority_of(other) != priority_of(workload):
        return priority_of(other) < priority_of(workload)
    return policy == "LowerOrNewerEqualPriority" and order(workload)[1] < order(other)[1]
