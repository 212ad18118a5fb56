"""The cluster of the story with GPUs of a second type: a node, its flavor, and quota of it."""

from playground.cluster.cluster import Cluster
from playground.cluster.objects.kinds import Object
from playground.cluster.story import GPU, NODE_RESOURCES, add_node, flavor

A100 = "a100"
PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}


def add_second_type(cluster: Cluster, quotas: dict[str, str]) -> None:
    """Adds a node with 8 A100 GPUs, and so many of them to the quota of each of these teams."""
    add_node(cluster, "gpu-a100", NODE_RESOURCES, PRODUCT)
    cluster.create("resourceflavors", flavor(A100, PRODUCT))
    for team, gpus in quotas.items():
        groups = (cluster.get("clusterqueues", team) or {})["spec"]["resourceGroups"]
        changed = [{**groups[0], "flavors": [*groups[0]["flavors"], _quota(gpus)]}]
        cluster.patch("clusterqueues", team, {"spec": {"resourceGroups": changed}})


def _quota(gpus: str) -> Object:
    amounts = {"cpu": "400", "memory": "4Ti", GPU: gpus}
    rows = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    return {"name": A100, "resources": rows}
