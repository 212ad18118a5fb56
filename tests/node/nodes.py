"""A control plane with real nodes: pods run in containers, and find each other by name."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from playground.cluster import story
from tests.cluster import control_plane
from tests.cluster.building import Built
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import ZONE
from tests.node import dns, operators, storage
from tests.node.building import Nodes
from tests.node.network import claimed
from tests.node.node import Node

COUNT = 2
GPUS = 4  # that each node says it has
_NEEDED = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "runc": "runc",
    "nft": "nftables",
    "conntrack": "conntrack",
}


def missing() -> str:
    """Why this machine cannot have nodes of its own, empty when it can."""
    if sys.platform != "linux":
        return "nodes of its own need Linux"
    if os.geteuid() != 0:
        return "nodes of its own need root"
    absent = sorted({package for name, package in _NEEDED.items() if not shutil.which(name)})
    if absent:
        return f"nodes of its own need {', '.join(absent)}: apt-get install {' '.join(absent)}"
    if not Path("/sys/fs/cgroup").exists():
        return "nodes of its own need cgroups"
    return ""


@contextlib.contextmanager
def running(plane_built: Built, built: Nodes) -> Iterator[tuple[ControlPlane, list[Node]]]:
    """A control plane with `COUNT` nodes that are ready; nothing is left of them after the block.

    Each node is of the usual GPU product, in zone "a", and mounts volumes of the class `folder`.
    """
    with ExitStack() as held:
        held.callback(operators.clear)
        network = held.enter_context(claimed())
        held.callback(network.remove)
        network.make(COUNT)
        nodes: list[Node] = []
        held.callback(_remove, nodes)
        plane = held.enter_context(control_plane.running(plane_built, network.gateway))
        dns.start(plane, built)
        storage.start(plane, built)
        nodes += [Node(plane, network, built, number) for number in range(1, COUNT + 1)]
        for node in nodes:
            node.start({**story.PRODUCT, ZONE: "a"})
        operators.start(plane, network, plane_built, built)
        for node in nodes:
            node.wait(GPUS)
        storage.wait(plane, [node.name for node in nodes])
        yield plane, nodes


def _remove(nodes: list[Node]) -> None:
    for node in nodes:
        node.remove()
