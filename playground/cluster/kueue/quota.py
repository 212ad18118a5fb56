"""Quota arithmetic of cohort trees: what is free, what is borrowed, what could ever be."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from playground.cluster.kueue.workloads import Usage, held
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.quantities import parse_quantity

Cell = tuple[str, str]
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Limits:
    """The quota of one resource of one flavor in one ClusterQueue or cohort."""

    nominal: Decimal
    borrowing: Decimal | None = None
    lending: Decimal | None = None


class Node:
    """A ClusterQueue or a cohort as the scheduler counts it.

    `quota` is what it and all below it have, without what those keep for themselves; `used` is
    what counts against it.
    """

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        self.name = name
        self.spec = spec
        self.limits = dict(_limits(spec))
        self.parent: Node | None = None
        self.cohorts: list[Node] = []
        self.queues: list[Queue] = []
        self.quota: Usage = {}
        self.used: Usage = defaultdict(Decimal)
        weight = (spec.get("fairSharing") or {}).get("weight")
        self.weight = 1.0 if weight is None else float(parse_quantity(weight))

    @property
    def ancestors(self) -> "Iterator[Node]":
        """The cohorts above, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "Node":
        """The top of its tree."""
        return next((above for above in self.ancestors if above.parent is None), self)

    @property
    def height(self) -> int:
        """How many levels are below it."""
        below = max((child.height for child in self.cohorts), default=0)
        return below + 1 if self.cohorts else min(len(self.queues), 1)

    def subtree(self) -> "Iterator[Queue]":
        """All ClusterQueues below."""
        yield from self.queues
        for child in self.cohorts:
            yield from child.subtree()

    def gather(self) -> None:
        """Sums up the quota of everything below."""
        self.quota = {cell: limits.nominal for cell, limits in self.limits.items()}
        for child in (*self.cohorts, *self.queues):
            child.gather()
            for cell, amount in child.quota.items():
                lent = amount - child.kept(cell)
                self.quota[cell] = self.quota.get(cell, _ZERO) + lent

    def kept(self, cell: Cell) -> Decimal:
        """What is never lent to the cohort above."""
        limits = self.limits.get(cell)
        if limits is None or limits.lending is None:
            return _ZERO
        return max(_ZERO, self.quota.get(cell, _ZERO) - limits.lending)

    def kept_free(self, cell: Cell) -> Decimal:
        """What of that is free."""
        return max(_ZERO, self.kept(cell) - self.used[cell])

    def available(self, cell: Cell) -> Decimal:
        """How much may be taken now; negative where more is used than there is."""
        quota, used = self.quota.get(cell, _ZERO), self.used[cell]
        if self.parent is None:
            return quota - used
        shared = self.parent.available(cell)
        limits = self.limits.get(cell)
        if limits is not None and limits.borrowing is not None:
            kept = self.kept(cell)
            own = quota - kept - max(_ZERO, used - kept)
            shared = min(own + limits.borrowing, shared)
        return self.kept_free(cell) + shared

    def potential(self, cell: Cell) -> Decimal:
        """How much could be taken if nothing else ran."""
        quota = self.quota.get(cell, _ZERO)
        if self.parent is None:
            return quota
        most = self.kept(cell) + self.parent.potential(cell)
        limits = self.limits.get(cell)
        if limits is not None and limits.borrowing is not None:
            most = min(quota + limits.borrowing, most)
        return most

    def exceeds(self, cell: Cell, more: Decimal = _ZERO) -> bool:
        """Whether it uses more than its quota, or would with so much more."""
        return self.used[cell] + more > self.quota.get(cell, _ZERO)

    def take(self, cell: Cell, amount: Decimal) -> None:
        """Counts usage here, and above what exceeds the quota kept here."""
        passed = amount - self.kept_free(cell)
        self.used[cell] += amount
        if self.parent is not None and passed > 0:
            self.parent.take(cell, passed)

    def give(self, cell: Cell, amount: Decimal) -> None:
        """Takes usage back."""
        above = self.used[cell] - self.kept(cell)
        self.used[cell] -= amount
        if self.parent is not None and above > 0:
            self.parent.give(cell, min(amount, above))


class Queue(Node):
    """A ClusterQueue with the Workloads that hold its quota."""

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        super().__init__(name, spec)
        self.workloads: list[Object] = []

    @property
    def policies(self) -> dict[str, Any]:
        """Whom it may push out."""
        found: dict[str, Any] = self.spec.get("preemption") or {}
        return found

    @property
    def strict(self) -> bool:
        """Whether nobody passes the first of its line."""
        return self.spec.get("queueingStrategy") == "StrictFIFO"

    def group_of(self, resource: str) -> dict[str, Any] | None:
        """The resource group that covers a resource."""
        groups = self.spec.get("resourceGroups") or ()
        return next((g for g in groups if resource in g["coveredResources"]), None)

    def borrowed(self, cell: Cell) -> Decimal:
        """How much of a cell is above its nominal quota; nothing outside a cohort."""
        if self.parent is None:
            return _ZERO
        return max(_ZERO, self.used[cell] - self.quota.get(cell, _ZERO))

    def fits(self, usage: Usage, *, borrowing: bool = True) -> bool:
        """Whether so much more fits now."""
        return all(
            amount <= self.available(cell) and (borrowing or not self.exceeds(cell, amount))
            for cell, amount in usage.items()
        )

    def add(self, usage: Usage) -> None:
        """Counts usage."""
        for cell, amount in usage.items():
            self.take(cell, amount)

    def remove(self, usage: Usage) -> None:
        """Takes usage back."""
        for cell, amount in usage.items():
            self.give(cell, amount)

    @contextmanager
    def holding(self, usage: Usage) -> Iterator[None]:
        """The queue as it would be with so much more."""
        self.add(usage)
        yield
        self.remove(usage)

    @contextmanager
    def lacking(self, usage: Usage) -> Iterator[None]:
        """The queue as it would be with so much less."""
        self.remove(usage)
        yield
        self.add(usage)


class Ledger:
    """All ClusterQueues in their cohorts at one moment, with the quota that Workloads hold."""

    def __init__(
        self, queues: Iterable[Object], cohorts: Iterable[Object], workloads: Iterable[Object] = ()
    ) -> None:
        self.cohorts: dict[str, Node] = {}
        self.queues: dict[str, Queue] = {}
        for obj in cohorts:
            name = obj["metadata"]["name"]
            self.cohorts[name] = Node(name, obj.get("spec") or {})
        self.circular = self._join_cohorts()
        for obj in queues:
            self._join_queue(Queue(obj["metadata"]["name"], obj.get("spec") or {}))
        for node in (*self.cohorts.values(), *self.queues.values()):
            if node.parent is None:
                node.gather()
        for workload in workloads:
            self._count(workload)

    def queue_of(self, workload: Object) -> Queue:
        """The ClusterQueue whose quota a Workload holds."""
        return self.queues[queue_name(workload)]

    def add(self, workload: Object) -> None:
        """Counts what a Workload holds."""
        self.queue_of(workload).add(held(workload))

    def remove(self, workload: Object) -> None:
        """Counts it no longer."""
        self.queue_of(workload).remove(held(workload))

    @contextmanager
    def without(self, workloads: Iterable[Object]) -> Iterator[None]:
        """The ledger as it would be without these."""
        gone = list(workloads)
        for workload in gone:
            self.remove(workload)
        yield
        for workload in reversed(gone):
            self.add(workload)

    def _count(self, workload: Object) -> None:
        queue = self.queues.get(queue_name(workload))
        if queue is not None:
            queue.workloads.append(workload)
            queue.add(held(workload))

    def _cohort(self, name: str) -> Node:
        return self.cohorts.setdefault(name, Node(name, {}))

    def _join_cohorts(self) -> frozenset[str]:
        """Builds the trees; the names of cohorts whose parents go round in a circle."""
        for node in list(self.cohorts.values()):
            if name := node.spec.get("parentName"):
                node.parent = self._cohort(name)
        circular = frozenset(name for name, node in self.cohorts.items() if _circles(node))
        for name, node in self.cohorts.items():
            if name in circular:
                node.parent = None
            elif node.parent is not None:
                node.parent.cohorts.append(node)
        return circular

    def _join_queue(self, queue: Queue) -> None:
        self.queues[queue.name] = queue
        if name := queue.spec.get("cohortName"):
            cohort = self._cohort(name)
            queue.parent = cohort
            cohort.queues.append(queue)


def queue_name(workload: Object) -> str:
    """The name of the ClusterQueue whose quota a Workload holds."""
    name: str = workload["status"]["admission"]["clusterQueue"]
    return name


def _circles(node: Node) -> bool:
    seen: set[str] = set()
    above: Node | None = node
    while above is not None and above.name not in seen:
        seen.add(above.name)
        above = above.parent
    return above is not None


def _limits(spec: dict[str, Any]) -> Iterator[tuple[Cell, Limits]]:
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for row in flavor.get("resources") or ():
                yield (
                    (flavor["name"], row["name"]),
                    Limits(
                        parse_quantity(row["nominalQuota"]),
                        _optional(row.get("borrowingLimit")),
                        _optional(row.get("lendingLimit")),
                    ),
                )


def _optional(value: Any) -> Decimal | None:
    return None if value is None else parse_quantity(value)
