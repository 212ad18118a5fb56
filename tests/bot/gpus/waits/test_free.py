"""What is free for a team where no quota engine says so: what its nodes have left."""

from decimal import Decimal

import pytest

from bot.gpus.node_list import NodeUse
from bot.gpus.nodes import NodePool
from bot.gpus.waits.free import FreeGpus, best_of, free_on_nodes
from bot.quotas import Figures


def node(name: str, gpus: float, held: float, *, is_ready: bool = True) -> NodeUse:
    amounts = int(gpus * 1000), {"team-a": int(held * 1000)}
    return NodeUse("default", name, NodePool("h100"), amounts[0], is_ready, amounts[1])


def limit(hard: int, used: int | None) -> Figures:
    """The ResourceQuota of a namespace."""
    known = None if used is None else Decimal(used)
    return Figures(
        queue="team-a",
        cohort="",
        flavor="any",
        nominal=Decimal(hard),
        borrowing_limit=Decimal(0),
        lending_limit=Decimal(0),
        used=known,
        reserved=known,
        borrowed=Decimal(0),
        reclaims=False,
    )


NODES = [node("one", 8, 5.5), node("two", 8, 8), node("cordoned", 8, 0, is_ready=False)]


def test_ready_nodes_have_so_many_left() -> None:
    assert free_on_nodes(NODES, ()) == FreeGpus("", Decimal("2.5"), Decimal(24))


@pytest.mark.parametrize(("hard", "used", "free", "most"), [(8, 7, 1, 8), (40, 2, 2.5, 24)])
def test_a_resource_quota_limits_it(hard: int, used: int, free: float, most: int) -> None:
    found = free_on_nodes(NODES, [limit(hard, used)])
    assert found == FreeGpus("", Decimal(str(free)), Decimal(most))


def test_unknown_use_leaves_nothing_known_free() -> None:
    assert free_on_nodes(NODES, [limit(8, None)]).gpus is None


def test_no_type_is_told_from_another() -> None:
    free = (free_on_nodes(NODES, ()),)
    assert best_of(free, "") == free[0]
    assert best_of(free, "h100") is None
