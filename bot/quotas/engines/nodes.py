"""How many GPUs the nodes of a kind have."""

from collections.abc import Callable
from decimal import Decimal

from bot.cluster.resources import NODES
from bot.cluster.types.objects import Node, has_condition
from bot.cluster.view import View


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


def _is_ready(node: Node) -> bool:
    return has_condition(node.status.conditions, "Ready") and not node.spec.unschedulable
