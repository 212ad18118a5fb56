"""How many GPUs the nodes of a kind have, and how many beyond all quotas."""

from collections.abc import Callable, Sequence
from decimal import Decimal

from bot.cluster.resources import NODES
from bot.cluster.types.objects import Node, has_condition
from bot.cluster.view import View
from bot.quotas.engines.engine import ZERO, Figures


def allocatable(view: View, resource: str, fits: Callable[[Node], bool]) -> Decimal | None:
    """The GPUs of the ready nodes that fit; None while the nodes were not read."""
    if not view.store(NODES).synced:
        return None
    amounts = (
        node.status.allocatable.get(resource, Decimal(0))
        for node in view.all(NODES)
        if fits(node) and _is_ready(node)
    )
    return sum(amounts, Decimal(0))


def beyond_quotas(own: Figures, members: Sequence[Figures], free: Decimal | None) -> Figures:
    """What a queue's node pool has beyond the quotas of its members; `free` is None if unknown.

    Together with the members it has this free.
    """
    within = sum((each.nominal - (each.reserved or ZERO) for each in members), ZERO)
    return Figures(
        queue="",
        cohort=own.cohort,
        flavor=own.flavor,
        nominal=(free or ZERO) - within,
        borrowing_limit=None,
        lending_limit=None,
        used=ZERO,
        reserved=None if free is None else ZERO,
        borrowed=ZERO,
        reclaims=False,
    )


def _is_ready(node: Node) -> bool:
    return has_condition(node.status.conditions, "Ready") and not node.spec.unschedulable
