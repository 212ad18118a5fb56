"""The cluster of the fairness story: four teams that share sixteen GPUs, counted in tenths."""

from dataclasses import replace

from playground.cluster.cluster import Cluster
from playground.cluster.kueue.configuration import FairSharing
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node, add_team
from playground.story import fairness
from playground.story.fairness import GPU_TENTHS, TENTHS


def share_gpus(cluster: Cluster) -> None:
    """Turns the story's cluster into it; its first teams keep their names."""
    fair, resources = (
        fairness.CONFIGURATION["fairSharing"],
        fairness.CONFIGURATION["resources"],
    )
    cluster.inside.kueue = replace(
        cluster.inside.kueue,
        fair_sharing=FairSharing(tuple(fair["preemptionStrategies"])),
        excluded_prefixes=tuple(resources["excludeResourcePrefixes"]),
    )
    for node in cluster.list("nodes"):
        cluster.remove_node(node["metadata"]["name"])
    for name, gpus in fairness.NODES.items():
        tenths = {GPU_TENTHS: str(gpus * TENTHS)}
        add_node(cluster, name, {**NODE_RESOURCES, **tenths}, PRODUCT)
    cluster.create("cohorts", {"metadata": {"name": fairness.COHORT}, "spec": {}})
    cluster.create("resourceflavors", {"metadata": {"name": fairness.FLAVOR}, "spec": {}})
    for team, gpus in fairness.QUOTAS.items():
        if cluster.get("namespaces", team) is None:
            add_team(cluster, team, str(gpus))
        cluster.patch("clusterqueues", team, {"spec": fairness.cluster_queue(team)["spec"]})
