"""What a queue can have of its tree of cohorts, counted as Kueue does.

Each node keeps for itself what it does not lend, and takes no more from above than it may borrow.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from bot.quotas.engines.engine import ZERO, CohortQuota, Figures


def available(own: Figures, pool: Iterable[Figures]) -> Decimal | None:
    """What the queue could take now without preemption; None when a figure is unknown.

    Negative where more is used than there is.
    """
    members = [each for each in pool if each.queue != own.queue] + [own]
    if any(each.reserved is None for each in members):
        return None
    tree = _Tree()
    leaf = [tree.add(each) for each in members][-1]
    leaf.root.gather()
    return leaf.available()


@dataclass(eq=False)
class _Node:
    """A queue or a cohort: what it and all below have, and what of it is used, past what they keep.

    `quota` is first its own.
    """

    quota: Decimal
    used: Decimal
    borrowing_limit: Decimal | None
    lending_limit: Decimal | None
    parent: "_Node | None" = None
    children: "list[_Node]" = field(default_factory=list)

    @property
    def root(self) -> "_Node":
        """The top of its tree."""
        return self if self.parent is None else self.parent.root

    @property
    def kept(self) -> Decimal:
        """What is never lent to the cohort above."""
        return ZERO if self.lending_limit is None else max(ZERO, self.quota - self.lending_limit)

    def gather(self) -> None:
        """Sums up everything below."""
        for child in self.children:
            child.gather()
            self.quota += child.quota - child.kept
            self.used += max(ZERO, child.used - child.kept)

    def available(self) -> Decimal:
        """How much may be taken here now."""
        if self.parent is None:
            return self.quota - self.used
        shared, kept = self.parent.available(), self.kept
        if self.borrowing_limit is not None:
            stored = self.quota - kept - max(ZERO, self.used - kept)
            shared = min(stored + self.borrowing_limit, shared)
        return max(ZERO, kept - self.used) + shared


class _Tree:
    """The nodes, of cohorts by their names."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Node] = {}

    def add(self, figures: Figures) -> _Node:
        """A queue below its cohorts; a cohort's own quota comes with the cohort."""
        above = None
        for quota in reversed(_path(figures)):
            above = self._cohort(quota, above)
        limits = (figures.borrowing_limit, figures.lending_limit)
        leaf = _Node(figures.nominal, figures.reserved or ZERO, *limits, above)
        if above is not None and not figures.is_cohort:
            above.children.append(leaf)
        return leaf

    def _cohort(self, quota: CohortQuota, above: _Node | None) -> _Node:
        found = self.nodes.get(quota.name)
        if found is None:
            limits = (quota.borrowing_limit, quota.lending_limit)
            found = self.nodes[quota.name] = _Node(quota.nominal, ZERO, *limits, above)
            if above is not None:
                above.children.append(found)
        return found


def _path(figures: Figures) -> tuple[CohortQuota, ...]:
    """The cohorts above, the nearest first; without a tree all of a pool are in one."""
    return figures.above or (CohortQuota(""),)
