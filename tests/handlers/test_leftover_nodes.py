"""/qm leftovers as people type it: GPU nodes that nobody uses, by node group."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from bot.cluster.resources import NODES
from bot.gpus.minutes import minute_of
from bot.gpus.samples import rollup
from bot.gpus.samples.packing import pack
from bot.gpus.tables import GpuPod, Sample
from playground.cluster.cluster import Cluster
from playground.cluster.story import NODE_RESOURCES, PRODUCT, node_body
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.handlers.command_client import SETTINGS as BASE
from tests.handlers.gpu_past import held, sample
from tests.handlers.test_qm_leftovers import squeezed
from tests.playground.cluster.served import Served

SETTINGS = "training: {prices: {currency: EUR, per_gpu_hour: {h100: 2.5}}}\n"
EKS = {
    "eks.amazonaws.com/nodegroup": "p4d",
    "alpha.eksctl.io/cluster-name": "ml",
    "topology.kubernetes.io/region": "us-east-1",
}
AKS = {"kubernetes.azure.com/agentpool": "gpuburst", "kubernetes.azure.com/mode": "user"}
KARPENTER = {"karpenter.sh/nodepool": "gpu"}
LAST = "no GPU used for 1d 6h, last by lane of team-a (Alice)"
NOTHING = [
    "Leftovers of the platform",
    "Nothing of the platform is known to cost and to be unused.",
]
HEADER = "What Kind Amount State Monthly cost"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    for name in ("gpu-1", "gpu-2"):
        served.cluster.remove_node(name)
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        yield opened_client


def added(cluster: Cluster, name: str, labels: dict[str, str], **more: Any) -> None:
    """A node with eight GPUs that a cloud added."""
    node = node_body(name, NODE_RESOURCES, PRODUCT | labels, cluster.clock.now())
    node["metadata"] |= {"annotations": more.pop("annotations", {})}
    node["spec"] |= more
    cluster.create("nodes", node)


def watched_for_two_days(
    client: CommandClient, unseen_hours: int = 0, cluster: str = "default"
) -> datetime:
    """Samples were taken for the last two days and three hours, but for some of yesterday; now."""
    app = client.application
    app.clock.shift(timedelta(days=2, hours=3))
    now = app.clock.now()
    begun, end = minute_of(now - timedelta(days=3)), minute_of(now)
    unseen = range(end - 24 * 60, end - 24 * 60 + unseen_hours * 60)

    def work(session: Session) -> None:
        state = rollup.begin(session, cluster, begun)
        state.rolled = end // 60
        whole = range(begun // 5 * 5, state.rolled * 60, 5)
        single = range(state.rolled * 60, end + 1)
        for step, minutes in ((5, whole), (1, single)):
            for minute in minutes:
                if minute not in unseen:
                    row = Sample(cluster=cluster, step=step, minute=minute, entries=pack({}))
                    session.add(row)

    app.database.transaction(work)
    return now


def used(client: CommandClient, node: str, series: int, until: datetime | None) -> None:
    """A pod that held GPUs of a node until a moment, or does so now."""
    row = GpuPod(
        uid=f"uid-{node}", cluster="default", namespace="team-a", name="lane-0", series=series,
        amount=8000, node=node, first=0, last=minute_of(until) if until else None,
    )  # fmt: skip
    client.application.database.transaction(lambda session: session.add(row))


def leftovers(client: CommandClient, person: str = CAROL, channel: str = APPROVALS) -> list[str]:
    platform = " --platform" if person == CAROL else ""
    return squeezed(client.says(person, channel, f"/qm leftovers{platform}"))


def test_idle_groups_of_eks_show_how_to_scale(client: CommandClient, served: Served) -> None:
    lane = held(client, "lane", person=ALICE)
    for name in ("ip-1", "ip-2"):
        added(served.cluster, name, EKS)
    now = watched_for_two_days(client)
    for name, hours in (("ip-1", 40), ("ip-2", 30)):
        used(client, name, lane, now - timedelta(hours=hours))
    assert leftovers(client) == [
        "Leftovers of the platform",
        "Total: 29,200.00 EUR a month.",
        (
            "Node group p4d (default): To scale the whole group to zero: `eksctl scale nodegroup"
            " --region us-east-1 --cluster=ml --name=p4d --nodes=0 --nodes-min=0`"
        ),
        HEADER,
        f"p4d (default) Node group 2 nodes, 16 GPUs {LAST} 29,200.00",
    ]


def test_busy_nodes_of_a_group_are_spared(client: CommandClient, served: Served) -> None:
    lane = held(client, "lane", person=ALICE)
    for number in (1, 2, 3):
        machine = f"aws:///us-east-1a/i-0{number}"
        added(served.cluster, f"ip-{number}", EKS, providerID=machine)
    now = watched_for_two_days(client)
    used(client, "ip-1", lane, None)
    used(client, "ip-2", lane, now - timedelta(hours=20))
    used(client, "ip-3", lane, now - timedelta(hours=30))
    assert leftovers(client) == [
        "Leftovers of the platform",
        "Total: 14,600.00 EUR a month.",
        (
            "Node group p4d (default): Only a part of the group is idle (ip-3), and with a smaller"
            " number the cloud may end other nodes. Drain each, then remove it, ip-3 for example"
            " by: `aws autoscaling terminate-instance-in-auto-scaling-group --region us-east-1"
            " --instance-id i-03 --should-decrement-desired-capacity`"
        ),
        HEADER,
        f"p4d (default) Node group 1 of 3 nodes, 8 GPUs {LAST} 14,600.00",
    ]


def test_karpenter_is_told_apart_by_its_label(client: CommandClient, served: Served) -> None:
    keeps = {"karpenter.sh/do-not-disrupt": "true"}
    added(served.cluster, "ip-1", KARPENTER | EKS, annotations=keeps)
    added(served.cluster, "ip-2", KARPENTER)
    watched_for_two_days(client)
    assert leftovers(client) == [
        "Leftovers of the platform",
        "Total: 29,200.00 EUR a month.",
        (
            "Node group gpu (default): Annotation karpenter.sh/do-not-disrupt of ip-1 keeps"
            " Karpenter from removing it. Karpenter usually removes an empty node within minutes."
            " The NodePool (consolidateAfter, budgets) and the node's events say why it has not."
            " To remove them now: `kubectl delete node ip-1 ip-2`"
        ),
        HEADER,
        (
            "gpu (default) Node group 2 nodes, 16 GPUs no GPU used for 2d 3h, since they were added"
            " 29,200.00"
        ),
    ]


def test_pods_that_block_an_autoscaler_are_named(client: CommandClient, served: Served) -> None:
    cluster = served.cluster
    since = str(int((cluster.clock.now() + timedelta(minutes=150)).timestamp()))
    taint = {"key": "DeletionCandidateOfClusterAutoscaler", "value": since,
             "effect": "PreferNoSchedule"}  # fmt: skip
    added(cluster, "aks-1", AKS, taints=[taint])
    kept = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    for name, annotations in (("web", kept), ("shell", {})):
        cluster.create("pods", a_pod(name, "aks-1", annotations), "team-b")
    lane = held(client, "lane", person=ALICE)
    now = watched_for_two_days(client)
    used(client, "aks-1", lane, now - timedelta(hours=30))
    row = f"gpuburst (default) Node group 1 node, 8 GPUs {LAST} 14,600.00"
    assert leftovers(client) == [
        "Leftovers of the platform",
        "Total: 14,600.00 EUR a month.",
        removal("Pod team-b/shell", "Pod team-b/web"),
        HEADER,
        row,
    ]
    theirs = leftovers(client, ALICE, TEAM_A)
    assert [each for each in theirs if "gpuburst" in each] == [
        removal("A pod of others", "A pod of others"),
        row,
    ]
    assert [each for each in leftovers(client, BOB, TEAM_B) if "gpuburst" in each] == []


def removal(shell: str, web: str) -> str:
    """How to remove the pool, and what keeps its autoscaler from it."""
    return (
        "Node group gpuburst (default): cluster-autoscaler has counted aks-1 as unneeded for"
        " 2d 30m, and usually removes such a node after 10m."
        f" {shell} keeps cluster-autoscaler from removing aks-1: it has no controller that would"
        f" start it again. {web} keeps cluster-autoscaler from removing aks-1: its annotation"
        " cluster-autoscaler.kubernetes.io/safe-to-evict."
        " AKS refuses to scale a pool that autoscales: lower its minimum first."
        " To scale the whole group to zero (put in your RESOURCE_GROUP and CLUSTER):"
        " `az aks nodepool scale --resource-group RESOURCE_GROUP --cluster-name CLUSTER"
        " --name gpuburst --node-count 0`"
    )


def a_pod(name: str, node: str, annotations: dict[str, str]) -> dict[str, Any]:
    """A pod without GPUs on a node."""
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "acme/web:1"}]},
    }


def test_nodes_with_two_such_pods_are_named_once(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gpu-9", KARPENTER)
    kept = {"karpenter.sh/do-not-disrupt": "true"}
    for name in ("shell", "web"):
        served.cluster.create("pods", a_pod(name, "gpu-9", kept), "team-b")
    now = watched_for_two_days(client)
    used(client, "gpu-9", held(client, "lane", person=ALICE), now - timedelta(hours=30))
    [said] = [each for each in leftovers(client, ALICE, TEAM_A) if "keeps" in each]
    assert said.startswith(
        "Node group gpu (default): A pod of others keeps Karpenter from removing gpu-9: its"
        " annotation karpenter.sh/do-not-disrupt. Karpenter usually"
    )


def test_pods_that_end_with_a_node_are_told(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gpu-9", KARPENTER)
    [found] = [each for each in served.cluster.list("nodes") if each["metadata"]["name"] == "gpu-9"]
    owner = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    for number in (1, 2, 3):
        web = a_pod(f"web-{number}", "gpu-9", {})
        web["metadata"]["ownerReferences"] = [owner | {"uid": found["metadata"]["uid"]}]
        served.cluster.create("pods", web, "team-b")
    served.cluster.create("pods", a_pod("shell", "gpu-9", {}), "team-b")
    watched_for_two_days(client)
    [said] = [each for each in leftovers(client) if "without GPUs" in each]
    assert said.startswith(
        "Node group gpu (default): 3 pods without GPUs would move from gpu-9. 1 pod without GPUs"
        " would end with gpu-9 for good: it has no controller. Karpenter usually"
    )


def test_parts_of_large_pools_name_ten_machines(client: CommandClient, served: Served) -> None:
    names = [f"aks-{number:02}" for number in range(13)]
    for name in names:
        added(served.cluster, name, AKS)
    watched_for_two_days(client)
    used(client, "aks-12", held(client, "lane", person=ALICE), None)
    assert leftovers(client)[2] == (
        "Node group gpuburst (default): Only a part of the group is idle"
        " (aks-00, aks-01, aks-02, aks-03, aks-04 and 7 more), and with a smaller number the cloud"
        " may end other nodes. To remove the first 10 of 12 (put in your RESOURCE_GROUP and"
        " CLUSTER): `az aks nodepool delete-machines --resource-group RESOURCE_GROUP"
        " --cluster-name CLUSTER --name gpuburst --machine-names"
        f" {' '.join(names[:10])}`"
    )


def test_system_pools_of_aks_have_no_command(client: CommandClient, served: Served) -> None:
    added(served.cluster, "aks-1", AKS | {"kubernetes.azure.com/mode": "system"})
    watched_for_two_days(client)
    assert leftovers(client)[2] == (
        "Node group gpuburst (default): AKS does not scale pools of mode System to zero."
        " Make it smaller in Azure."
    )


def test_pools_of_gke_are_resized_to_zero(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gke-1", {"cloud.google.com/gke-nodepool": "a3"}, unschedulable=True)
    watched_for_two_days(client)
    assert leftovers(client)[2] == (
        "Node group a3 (default): gke-1 is cordoned. To scale the whole group to zero (put in your"
        " CLUSTER and its LOCATION): `gcloud container clusters resize CLUSTER --location LOCATION"
        " --node-pool a3 --num-nodes 0`"
    )


def test_gaps_of_the_bot_are_said(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gpu-9", {})
    watched_for_two_days(client, unseen_hours=5)
    assert leftovers(client) == [
        "Leftovers of the platform",
        "Total: 14,600.00 EUR a month.",
        "Node gpu-9 (default): Its cloud is unknown, so remove it where it was added.",
        HEADER,
        (
            "gpu-9 (default) Node 1 node, 8 GPUs no GPU used for 2d 3h (5h of it unobserved),"
            " since it was added 14,600.00"
        ),
    ]


def test_pods_of_unknown_nodes_may_have_used_any(client: CommandClient, served: Served) -> None:
    # Container Insights tells of pods that the bot did not see, but not of their nodes.
    lane = held(client, "lane", person=ALICE)
    added(served.cluster, "gpu-9", {})
    now = watched_for_two_days(client)
    used(client, "gpu-9", lane, now - timedelta(hours=40))
    used(client, "", lane, now - timedelta(hours=30))
    assert leftovers(client)[-1] == (
        "gpu-9 (default) Node 1 node, 8 GPUs no GPU used for more than 1d 6h 14,600.00"
    )
    client.application.clock.shift(-timedelta(hours=10))
    assert leftovers(client) == NOTHING


def test_nodes_used_lately_are_no_leftovers(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gpu-9", {})
    sample(client)
    assert leftovers(client) == NOTHING


def test_old_names_say_nothing_of_new_machines(client: CommandClient, served: Served) -> None:
    lane, before = held(client, "lane", person=ALICE), client.application.clock.now()
    added(served.cluster, "ip-1", EKS)
    watched_for_two_days(client)
    used(client, "ip-1", lane, before - timedelta(hours=4))
    assert leftovers(client)[-1] == (
        "p4d (default) Node group 1 node, 8 GPUs no GPU used for 2d 3h, since it was added"
        " 14,600.00"
    )


def test_nodes_that_are_not_ready_may_be_deallocated(client: CommandClient, served: Served) -> None:
    node = node_body("aks-1", NODE_RESOURCES, PRODUCT | AKS, served.cluster.clock.now())
    node["status"]["conditions"][0] |= {"status": "Unknown", "reason": "NodeStatusUnknown"}
    served.cluster.create("nodes", node)
    watched_for_two_days(client)
    assert leftovers(client) == NOTHING


def test_no_node_is_reported_out_of_sight(client: CommandClient, served: Served) -> None:
    added(served.cluster, "gpu-9", {})
    watched_for_two_days(client)
    client.application.clusters["default"].view.store(NODES).synced = False
    assert leftovers(client) == [*NOTHING, "Idle nodes are unknown for now in: default."]


def test_clusters_are_reported_each_for_itself(tmp_path: Path, served: Served) -> None:
    at = "{kubeconfig: FOLDER/kubeconfig, engine: kueue}"
    base = BASE.replace(f"default: {at}", f"default: {at}, burst: {at}")
    for name in ("gpu-1", "gpu-2"):
        served.cluster.remove_node(name)
    added(served.cluster, "aks-1", AKS)
    url = f"sqlite:///{tmp_path}/test.db"
    with opened(tmp_path, url, served, SETTINGS, base=base) as client:
        watched_for_two_days(client, cluster="burst")
        rows = [each for each in leftovers(client) if "gpuburst" in each or "unknown" in each]
        assert [each.split(":")[0].split(" Node")[0] for each in rows] == [
            "Node group gpuburst (burst)",
            "Idle nodes are unknown for now in",
            "gpuburst (burst)",
        ]
        used(client, "aks-1", held(client, "lane", person=ALICE), None)
        assert "gpuburst (burst)" in "".join(leftovers(client))
