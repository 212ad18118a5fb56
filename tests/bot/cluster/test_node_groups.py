"""What nodes and pods say of their group and its autoscaler."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.cluster import labels
from bot.cluster.holders import Holder
from bot.cluster.node_groups import (
    CLUSTER_AUTOSCALER,
    KARPENTER,
    Maker,
    NodeGroup,
    afterwards,
    blocks,
    group_of,
    is_of_every_node,
    unneeded_since,
)
from bot.cluster.types.objects import (
    Node,
    NodeSpec,
    ObjectMeta,
    OwnerReference,
    PodMeta,
    Taint,
)

POOL = {"karpenter.sh/nodepool": "gpu"}
KEPT = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
CANDIDATE = Taint(key="DeletionCandidateOfClusterAutoscaler", value="1786925486")


def node(name: str, *taints: Taint, provider: str = "", **meta: Any) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, **meta), spec=NodeSpec(taints=taints, provider_id=provider)
    )


def pod(owner: str = "", namespace: str = "team-a", **annotations: str) -> Holder:
    owners = (OwnerReference(kind=owner, name="x", controller=True),) if owner else ()
    said = {getattr(labels, name): value for name, value in annotations.items()}
    meta = PodMeta(name="web", namespace=namespace, annotations=said, owner_references=owners)
    return Holder(metadata=meta)


@pytest.mark.parametrize(
    ("marks", "provider", "group"),
    [
        ({**POOL, "eks.amazonaws.com/nodegroup": "p4d"}, "", NodeGroup(Maker.KARPENTER, "gpu")),
        ({"eks.amazonaws.com/nodegroup": "p4d"}, "", NodeGroup(Maker.EKS, "p4d")),
        ({"alpha.eksctl.io/nodegroup-name": "p3"}, "", NodeGroup(Maker.EKS, "p3")),
        ({"kubernetes.azure.com/agentpool": "nc"}, "", NodeGroup(Maker.AKS, "nc")),
        ({"agentpool": "nc"}, "azure:///subscriptions/x", NodeGroup(Maker.AKS, "nc")),
        ({"agentpool": "nc"}, "", NodeGroup(Maker.UNKNOWN, "n", is_alone=True)),
        ({"cloud.google.com/gke-nodepool": "a3"}, "", NodeGroup(Maker.GKE, "a3")),
        ({"acme.com/rack": "r1"}, "", NodeGroup(Maker.UNKNOWN, "r1")),
        ({"node.kubernetes.io/instance-type": "p4d"}, "", NodeGroup(Maker.UNKNOWN, "n", True)),  # noqa: FBT003
    ],
)  # fmt: skip
def test_groups_come_from_the_labels_of_clouds(
    marks: dict[str, str], provider: str, group: NodeGroup
) -> None:
    own = ("acme.com/rack", "node.kubernetes.io/instance-type")
    assert group_of(node("n", provider=provider, labels=marks), own) == group


def test_only_what_nodes_show_is_said() -> None:
    assert afterwards([node("n1"), node("n2", labels={"eks.amazonaws.com/nodegroup": "p4d"})]) == ""
    assert afterwards([node("n1", labels=POOL), node("n2", labels=POOL)]) == (
        "Karpenter removes n1, n2 once nothing else runs there, when consolidateAfter of NodePool"
        " gpu allows it."
    )
    assert afterwards([node("n1", CANDIDATE)]) == (
        "cluster-autoscaler counts n1 as unneeded, and usually removes it after 10m."
    )


def test_annotations_that_keep_a_node_are_said() -> None:
    kept = {"karpenter.sh/do-not-disrupt": "true"}
    assert afterwards(
        [node("n1", annotations=KEPT), node("n2", labels=POOL, annotations=kept)]
    ) == (
        "cluster-autoscaler does not remove n1: annotation"
        " cluster-autoscaler.kubernetes.io/scale-down-disabled."
        " Karpenter does not remove n2: annotation karpenter.sh/do-not-disrupt."
    )
    # The annotation of one autoscaler is none to the other.
    assert "does not" not in afterwards([node("n1", labels=POOL, annotations=KEPT)])
    assert afterwards([node("n1", annotations=kept)]) == ""
    off = {"karpenter.sh/do-not-disrupt": "false"}
    assert "does not" not in afterwards([node("n1", labels=POOL, annotations=off)])


@pytest.mark.parametrize(
    ("taint", "scaler"),
    [
        ("karpenter.sh/disrupted", KARPENTER),
        ("ToBeDeletedByClusterAutoscaler", CLUSTER_AUTOSCALER),
    ],
)
def test_nodes_that_are_about_to_go_say_so(taint: str, scaler: str) -> None:
    names = [node(f"n{number}", Taint(key=taint)) for number in range(7)]
    assert afterwards(names) == f"{scaler} is removing n0, n1, n2, n3, n4 and 2 more."


@pytest.mark.parametrize("value", ["", "true", "-5", "17869254860", "٣"])
def test_odd_values_of_the_mark_are_no_time(value: str) -> None:
    assert unneeded_since(node("n", Taint(key=CANDIDATE.key, value=value))) is None
    assert unneeded_since(node("n", CANDIDATE)) == datetime.fromtimestamp(1786925486, UTC)


@pytest.mark.parametrize(
    ("found", "scaler", "why"),
    [
        (pod("ReplicaSet"), "", None),
        (pod("ReplicaSet", DO_NOT_DISRUPT="true"), KARPENTER, "its annotation"),
        (pod("ReplicaSet", DO_NOT_DISRUPT="true"), CLUSTER_AUTOSCALER, None),
        # Each node of Karpenter says that it is one.
        (pod("ReplicaSet", DO_NOT_DISRUPT="true"), "", None),
        (pod("ReplicaSet", SAFE_TO_EVICT="false"), "", "its annotation"),
        (pod("ReplicaSet", SAFE_TO_EVICT="false"), KARPENTER, None),
        (pod(), CLUSTER_AUTOSCALER, "it has no controller"),
        (pod(), KARPENTER, None),
        (pod(SAFE_TO_EVICT="true"), CLUSTER_AUTOSCALER, None),
        (pod("ReplicaSet", "kube-system"), "", "pods of kube-system"),
    ],
)
def test_pods_block_the_autoscaler_they_concern(
    found: Holder, scaler: str, why: str | None
) -> None:
    keeper = blocks(found, scaler)
    assert (keeper is None) if why is None else (keeper is not None and keeper.why.startswith(why))


def test_pods_of_every_node_are_told_apart() -> None:
    found = [is_of_every_node(pod(each)) for each in ("DaemonSet", "Node", "ReplicaSet", "")]
    assert found == [True, True, False, False]
