"""A run ends, its thread says what Karpenter does with the nodes, and unused nodes are reported."""

from datetime import timedelta
from typing import Any

from playground.cluster.cluster import Cluster
from playground.cluster.story import GPU, NODE_RESOURCES, PRODUCT, add_node
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Person
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

_KARPENTER = PRODUCT | {"karpenter.sh/nodepool": "gpu"}
_EKS = PRODUCT | {
    "eks.amazonaws.com/nodegroup": "p4d",
    "alpha.eksctl.io/cluster-name": "ml",
    "topology.kubernetes.io/region": "us-east-1",
}
_TWO_GPUS = NODE_RESOURCES | {GPU: "2"}
_TRAINING = (
    "--kind elastic --nodes 1:2 --gpus 2 --image ghcr.io/acme/lane:3.1"
    " -- python train.py --epochs 5"
)
_ENDED = (
    "Karpenter removes gpu-1, gpu-2 once nothing else runs there,"
    " when consolidateAfter of NodePool gpu allows it."
)
# Of more than an hour at once, a story only lives through the last minutes.
_HALF = timedelta(minutes=40)


def arrange(cluster: Cluster, _workspace: Workspace) -> None:
    """Gives the cluster two nodes of Karpenter, each for one pod of the run."""
    for name in ("gpu-1", "gpu-2"):
        cluster.remove_node(name)
        add_node(cluster, name, _TWO_GPUS, _KARPENTER)


SETUP = Setup(
    settings={
        "leftovers": {"idle_nodes_after": "1h"},
        "training": {"prices": {"per_gpu_hour": {"h100": 4.1}}},
    },
    arrange=arrange,
)


async def play(story: Story) -> None:
    """One of its nodes goes, a pod keeps the other, and a group scaled by hand stays unused."""
    alice, carol = story.person("Alice"), story.person("Carol")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    story.allowed_writes |= {"create services", "delete services"}
    wide = await submits(story, alice, "#team-a", "wide", _TRAINING)
    await is_admitted(story, wide)
    await wide.shows("2 of 2 nodes running; 1 to 2 allowed")
    await wide.shows("Succeeded")
    await alice.is_mentioned("#team-a", _ENDED, thread=wide)
    cluster = story.world.cluster
    cluster.remove_node("gpu-2")
    cluster.create("pods", _shell(), "team-b")
    for name in ("ip-10-0-1-1", "ip-10-0-1-2"):
        add_node(cluster, name, NODE_RESOURCES, _EKS)
    await story.pass_time(_HALF)
    await story.pass_time(_HALF)
    await _unused_nodes_are_reported(alice, carol)


async def _unused_nodes_are_reported(alice: Person, carol: Person) -> None:
    await carol.types("#gpu-approvals", "/qm leftovers --platform")
    await carol.is_told(
        "p4d (default)",
        "2 nodes, 16 GPUs",
        "since they were added",
        "To scale the whole group to zero: eksctl scale nodegroup --region us-east-1"
        " --cluster=ml --name=p4d --nodes=0 --nodes-min=0",
        "gpu (default)",
        "last by wide of team-a (alice)",
        "Pod team-b/shell keeps Karpenter from removing gpu-1",
        "kubectl delete node gpu-1",
    )
    await alice.types("#team-a", "/train show wide")
    await alice.is_told("Its nodes now", "Karpenter removes gpu-1 once nothing else runs there")
    await alice.types("#team-a", "/qm leftovers")
    await alice.is_told("gpu (default)", "A pod of others keeps Karpenter from removing gpu-1")


def _shell() -> dict[str, Any]:
    """A pod without GPUs that somebody left on a node, and that Karpenter may not disrupt."""
    return {
        "metadata": {"name": "shell", "annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        "spec": {"nodeName": "gpu-1", "containers": [{"name": "main", "image": "acme/shell:1"}]},
    }
