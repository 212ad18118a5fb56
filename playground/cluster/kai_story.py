"""The cluster of the story with KAI Scheduler: the same nodes, teams and quotas."""

from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster
from playground.cluster.objects.kinds import Object
from playground.cluster.story import (
    NODE_RESOURCES,
    PRODUCT,
    TEAMS,
    add_namespace,
    add_node,
    storage_class,
)
from playground.ledger import Ledger

ABOVE = "research"
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
_ANY = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def kai_cluster(clock: VirtualClock, ledger: Ledger | None = None) -> Cluster:
    """The cluster where KAI places runs, ready to be started."""
    cluster = Cluster(clock, ledger, engine="kai")
    for number in (1, 2):
        add_node(cluster, f"gpu-{number}", NODE_RESOURCES, PRODUCT)
    cluster.create("storageclasses", storage_class("standard", seconds=0, default=True))
    for name, value in PRIORITIES.items():
        cluster.create("priorityclasses", {"metadata": {"name": name}, "value": value})
    for name in ("default", "kube-system", "quartermaster"):
        cluster.create("namespaces", {"metadata": {"name": name}})
    cluster.create("queues", queue(ABOVE, gpu=_ANY, parent=""))
    for team, gpus in TEAMS.items():
        add_namespace(cluster, team)
        quota = int(gpus)
        cluster.create(
            "queues", queue(team, gpu={"quota": quota, "limit": -1, "overQuotaWeight": quota})
        )
    return cluster


def queue(name: str, gpu: Object, parent: str = ABOVE) -> Object:
    """A Queue with so many GPUs, and any amount of the rest."""
    resources = {"cpu": dict(_ANY), "memory": dict(_ANY), "gpu": dict(gpu)}
    spec = {"resources": resources} | ({"parentQueue": parent} if parent else {})
    return {"metadata": {"name": name}, "spec": spec}
