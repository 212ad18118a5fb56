"""The group that a node is in, and what a node says of its autoscaler. Pure: no I/O."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from bot.cluster import labels
from bot.cluster.holders import Holder
from bot.cluster.types.objects import Node

KARPENTER, CLUSTER_AUTOSCALER = "Karpenter", "cluster-autoscaler"
_NODE_POOL = "karpenter.sh/nodepool"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_OWN_AGENT_POOL = "agentpool"
_KEEPS = {
    "karpenter.sh/do-not-disrupt": KARPENTER,
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": CLUSTER_AUTOSCALER,
}
_LEAVES = {
    "karpenter.sh/disrupted": KARPENTER,
    "karpenter.sh/disruption": KARPENTER,
    "ToBeDeletedByClusterAutoscaler": CLUSTER_AUTOSCALER,
}
_CANDIDATE = "DeletionCandidateOfClusterAutoscaler"
# Each node has its own pods of these, and they end with it. The last one is NVIDIA's GPU operator,
# which tries each node's GPUs.
_OF_NODES = {"DaemonSet", "Node", "ClusterPolicy"}
SYSTEM_NAMESPACE = "kube-system"
_SHOWN = 5


class Maker(StrEnum):
    """Who adds and removes the nodes of a group."""

    KARPENTER = "Karpenter"
    EKS = "EKS"
    GKE = "GKE"
    AKS = "AKS"
    UNKNOWN = ""


_GROUPS = {
    # Karpenter's nodes may have a label of their cloud, too, whose commands do not reach them.
    _NODE_POOL: Maker.KARPENTER,
    "eks.amazonaws.com/nodegroup": Maker.EKS,
    "alpha.eksctl.io/nodegroup-name": Maker.EKS,
    "cloud.google.com/gke-nodepool": Maker.GKE,
    "kubernetes.azure.com/agentpool": Maker.AKS,
}


class NodeGroup(NamedTuple):
    """A group of nodes; a node without a group is alone, and gives it its name."""

    maker: Maker
    name: str
    is_alone: bool = False


class Keeper(NamedTuple):
    """Why an autoscaler does not remove a node: the one that does not, and a pod's or own reason.

    `pod` is None for an annotation of the node itself.
    """

    scaler: str
    why: str
    pod: Holder | None = None


def group_of(node: Node, pool_labels: Sequence[str] = ()) -> NodeGroup:
    """The group of a node, by the labels of clouds, else by these labels."""
    for label, maker in _GROUPS.items():
        if name := node.labels.get(label):
            return NodeGroup(maker, name)
    if (name := node.labels.get(_OWN_AGENT_POOL)) and node.spec.provider_id.startswith("azure:"):
        return NodeGroup(Maker.AKS, name)
    named = (node.labels.get(each) for each in pool_labels if each != _INSTANCE_TYPE)
    found = next(filter(None, named), "")
    return NodeGroup(Maker.UNKNOWN, found or node.name, is_alone=not found)


def scaler_of(node: Node) -> str:
    """The autoscaler that manages a node, as the node itself shows it; empty if unknown."""
    if _NODE_POOL in node.labels:
        return KARPENTER
    keys = {each.key for each in node.spec.taints}
    has_mark = _CANDIDATE in keys or "ToBeDeletedByClusterAutoscaler" in keys
    return CLUSTER_AUTOSCALER if has_mark else ""


def leaves_by(node: Node) -> str:
    """The autoscaler that is removing a node; empty if none is."""
    found = (_LEAVES.get(each.key, "") for each in node.spec.taints)
    return next(filter(None, found), "")


def unneeded_since(node: Node) -> datetime | None:
    """Since when cluster-autoscaler counts a node as unneeded; None if it does not say so."""
    said = next((each.value for each in node.spec.taints if each.key == _CANDIDATE), "")
    # More digits than a time of this age has are no time.
    is_time = said.isascii() and said.isdecimal() and len(said) <= len("1000000000")
    return datetime.fromtimestamp(int(said), UTC) if is_time else None


def kept_by(node: Node) -> list[Keeper]:
    """The annotations of a node that keep its autoscaler from removing it when it is empty."""
    there, own = node.metadata.annotations, scaler_of(node) or CLUSTER_AUTOSCALER
    return [
        Keeper(scaler, name)
        for name, scaler in _KEEPS.items()
        if scaler == own and there.get(name) == "true"
    ]


def is_of_every_node(pod: Holder) -> bool:
    """Whether a pod ends with its node and comes with each new one: of a DaemonSet, or static."""
    return any(each.controller and each.kind in _OF_NODES for each in pod.metadata.owner_references)


def has_controller(pod: Holder) -> bool:
    """Whether something starts a pod again, elsewhere, if its node goes."""
    return any(each.controller for each in pod.metadata.owner_references)


def is_system(pod: Holder) -> bool:
    """Whether a pod is there for its node or its cluster, and not for people's work."""
    return pod.namespace == SYSTEM_NAMESPACE or is_of_every_node(pod)


def blocks(pod: Holder, scaler: str) -> Keeper | None:
    """Why a pod keeps an autoscaler from removing its node; None if it is not known to do so.

    A node of an unknown one can only be of cluster-autoscaler: those of Karpenter say so.
    """
    said = pod.metadata.annotations
    if scaler == KARPENTER and said.get(labels.DO_NOT_DISRUPT) == "true":
        return Keeper(KARPENTER, f"its annotation {labels.DO_NOT_DISRUPT}", pod)
    if scaler == KARPENTER or said.get(labels.SAFE_TO_EVICT) == "true":
        return None
    if said.get(labels.SAFE_TO_EVICT) == "false":
        return Keeper(CLUSTER_AUTOSCALER, f"its annotation {labels.SAFE_TO_EVICT}", pod)
    if not has_controller(pod):
        return Keeper(CLUSTER_AUTOSCALER, "it has no controller that would start it again", pod)
    if pod.namespace == SYSTEM_NAMESPACE:
        return Keeper(
            CLUSTER_AUTOSCALER, f"pods of {SYSTEM_NAMESPACE} need a PodDisruptionBudget", pod
        )
    return None


def afterwards(nodes: Sequence[Node]) -> str:
    """What becomes of the nodes of something that ended, as far as they show it themselves."""
    return " ".join(_afterwards(nodes))


def names_of(nodes: Sequence[str]) -> str:
    """The names of nodes, the first of many."""
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(nodes[:_SHOWN]) + more


def _afterwards(nodes: Sequence[Node]) -> Iterator[str]:
    rest: dict[str, list[str]] = {}
    for each in nodes:
        keeps, by, pool = kept_by(each), leaves_by(each), each.labels.get(_NODE_POOL, "")
        if by:
            said = f"{by} is removing {{}}."
        elif keeps:
            said = f"{keeps[0].scaler} does not remove {{}}: annotation {keeps[0].why}."
        elif pool:
            said = (
                "Karpenter removes {} once nothing else runs there,"
                f" when consolidateAfter of NodePool {pool} allows it."
            )
        elif scaler_of(each):
            said = "cluster-autoscaler counts {} as unneeded, and usually removes it after 10m."
        else:
            continue
        rest.setdefault(said, []).append(each.name)
    for said, names in rest.items():
        yield said.format(names_of(names))
