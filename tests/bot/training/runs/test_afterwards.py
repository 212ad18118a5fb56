"""When a run ends, its thread says what becomes of its nodes, as far as these show it."""

import pytest

from bot.cluster.resources import NODES
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node
from tests.bot.training.rig import Rig

POOL = {"karpenter.sh/nodepool": "gpu"}
SAID = (
    "Karpenter removes gpu-1 once nothing else runs there, when consolidateAfter of NodePool gpu"
    " allows it."
)


def ended_on(rig: Rig, labels: dict[str, str]) -> str:
    """The id of a run that ended on a node with these labels."""
    for name in ("gpu-1", "gpu-2"):
        rig.world.remove_node(name)
    add_node(rig.world, "gpu-1", NODE_RESOURCES, PRODUCT | labels)
    rig.refresh(NODES)
    run_id = rig.submit(gpus=1)
    rig.pass_time(minutes=10)
    assert rig.get(run_id).nodes == ["gpu-1"]
    return run_id


def now_of(rig: Rig, run_id: str) -> str:
    """What `/train show` says of the nodes of a run that ended."""
    return rig.reads.afterwards(rig.get(run_id))


@pytest.mark.parametrize(("labels", "said"), [(POOL, True), ({}, False)])
def test_only_nodes_of_known_autoscalers_are_named(
    rig: Rig, labels: dict[str, str], *, said: bool
) -> None:
    last = rig.notes(ended_on(rig, labels))["ended"].splitlines()[-1]
    assert last == SAID if said else "Karpenter" not in last


def test_marks_of_cluster_autoscaler_are_shown_later(rig: Rig) -> None:
    run_id = ended_on(rig, {})
    assert now_of(rig, run_id) == ""
    mark = {
        "key": "DeletionCandidateOfClusterAutoscaler",
        "value": "1",
        "effect": "PreferNoSchedule",
    }
    rig.world.patch("nodes", "gpu-1", {"spec": {"taints": [mark]}})
    rig.refresh(NODES)
    assert now_of(rig, run_id) == (
        "cluster-autoscaler counts gpu-1 as unneeded, and usually removes it after 10m."
    )


def test_machines_that_came_later_are_left_out(rig: Rig) -> None:
    run_id = ended_on(rig, POOL)
    assert now_of(rig, run_id) == SAID
    rig.world.remove_node("gpu-1")
    rig.refresh(NODES)
    assert now_of(rig, run_id) == ""
    add_node(rig.world, "gpu-1", NODE_RESOURCES, PRODUCT | POOL)
    rig.refresh(NODES)
    assert rig.cluster.view.get(NODES, "gpu-1") is not None
    assert now_of(rig, run_id) == ""
