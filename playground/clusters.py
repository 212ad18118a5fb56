"""Which cluster a story plays in."""

from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster
from playground.cluster.kai_story import kai_cluster
from playground.cluster.story import (
    GPU,
    NODE_RESOURCES,
    PRODUCT,
    add_node,
    plain_cluster,
    runai_cluster,
    story_cluster,
)
from playground.ledger import Ledger
from playground.settings import Setup

_CLUSTERS = {
    "kueue": story_cluster,
    "kai": kai_cluster,
    "runai": runai_cluster,
    "none": plain_cluster,
}


def cluster_of(clock: VirtualClock, ledger: Ledger, setup: Setup, engine: str) -> Cluster:
    """The cluster of a story by its engine; a folder with its definitions is not needed."""
    cluster = _CLUSTERS[engine](clock, ledger)
    for number, gpus in enumerate(setup.big_nodes, start=3):
        resources = {**NODE_RESOURCES, GPU: str(gpus)}
        add_node(cluster, f"gpu-{number}", resources, PRODUCT)
    cluster.switch_kueue(on=setup.kueue and engine == "kueue")
    return cluster
