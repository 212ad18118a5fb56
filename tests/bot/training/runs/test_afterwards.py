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
    """What the thread of a run says at its end, on nodes with these labels."""
    for name in ("gpu-1", "gpu-2"):
        rig.world.remove_node(name)
    add_node(rig.world, "gpu-1", NODE_RESOURCES, PRODUCT | labels)
    rig.refresh(NODES)
    run_id = rig.submit(gpus=1)
    rig.pass_time(minutes=10)
    assert rig.get(run_id).nodes == ["gpu-1"]
    return rig.notes(run_id)["ended"]


@pytest.mark.parametrize(("labels", "said"), [(POOL, True), ({}, False)])
def test_only_nodes_of_known_autoscalers_are_named(
    rig: Rig, labels: dict[str, str], *, said: bool
) -> None:
    last = ended_on(rig, labels).splitlines()[-1]
    assert last == SAID if said else "Karpenter" not in last
