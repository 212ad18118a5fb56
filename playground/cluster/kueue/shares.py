"""Fair sharing in numbers: how much of what can be lent a queue borrows, by its weight."""

import math
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from playground.cluster.kueue.quota import Cell, Node
from playground.cluster.kueue.workloads import Usage

_MOST = 2**63 - 1
_PER_MILLE = 1000.0
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Share:
    """The dominant share of a node: per mille of what its cohort can lend, before its weight."""

    weight: float
    ratio: float = 0.0
    borrowed: frozenset[Cell] = frozenset()

    @property
    def rank(self) -> tuple[bool, float]:
        """What shares are compared by: the lowest is served first, the highest gives first.

        A node with weight 0 that borrows is above all others.
        """
        if self.weight == 0 and self.ratio:
            return True, self.ratio
        return False, self.ratio / self.weight if self.ratio else 0.0

    @property
    def reported(self) -> int:
        """What status.fairSharing.weightedShare says."""
        above, value = self.rank
        return _MOST if above else math.ceil(value)

    def borrows_any_of(self, usage: Usage) -> bool:
        """Whether it borrows something that is asked for here."""
        return any(usage.get(cell, _ZERO) > 0 for cell in self.borrowed)


def share_of(node: Node) -> Share:
    """The share of a ClusterQueue or cohort as it is now."""
    if node.parent is None:
        return Share(node.weight)
    over = {
        cell: node.used[cell] - quota for cell, quota in node.quota.items() if node.exceeds(cell)
    }
    if not over:
        return Share(node.weight)
    borrowed: dict[str, Decimal] = defaultdict(Decimal)
    for (_, resource), amount in over.items():
        borrowed[resource] += amount
    lendable = _lendable(node.parent)
    ratios = [
        float(amount) * _PER_MILLE / float(lendable[resource])
        for resource, amount in borrowed.items()
        if lendable[resource] > 0
    ]
    return Share(node.weight, max(ratios, default=0.0), frozenset(over))


def _lendable(cohort: Node) -> dict[str, Decimal]:
    found: dict[str, Decimal] = defaultdict(Decimal)
    for flavor, resource in cohort.root.quota:
        found[resource] += cohort.potential((flavor, resource))
    return found
