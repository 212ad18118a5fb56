"""A cluster whose view shows what Run:ai on loopback has, and nodes and pods of Kubernetes."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from bot.cluster.api.answers import decode
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, NODES, PODS, SYSTEM_PRIORITIES, Resource
from bot.cluster.view import Store
from bot.config import ClusterSettings
from bot.quotas.engines.opening import watched_with
from bot.quotas.engines.runai import objects
from bot.quotas.engines.runai.api import RunaiApi
from bot.quotas.engines.runai.objects import NODE_POOLS, PROJECTS, RUNAI_WORKLOADS
from tests.bot.cluster.api.api_server import write_kubeconfig
from tests.bot.quotas.engines.runai.plane import LABEL, ControlPlane

GPUS = "nvidia.com/gpu"
RUN = {"quartermaster.dev/run": "r1"}


def cluster_settings(plane: ControlPlane) -> ClusterSettings:
    """The configuration of the cluster that this Run:ai manages."""
    return ClusterSettings(engine="runai", runai=plane.settings())


def cluster_of(folder: Path) -> Cluster:
    """A cluster in whose view there is nothing yet."""
    path = write_kubeconfig(folder / "kubeconfig", "http://127.0.0.1:9", {"token": "t"})
    known = (*watched_with("runai"), PROJECTS, NODE_POOLS, RUNAI_WORKLOADS)
    return Cluster("default", Connection.to(str(path)), "us", watched=dict.fromkeys(known, ""))


def look(
    cluster: Cluster, plane: ControlPlane, shown: Mapping[Resource[Any], Sequence[Any]]
) -> None:
    """Has the view show what Run:ai has, and these objects of Kubernetes."""
    with closing(RunaiApi("default", plane.settings())) as api:
        found: dict[Resource[Any], Sequence[Any]] = {
            PROJECTS: objects.projects(api.projects()),
            NODE_POOLS: objects.node_pools(api.node_pools()),
            RUNAI_WORKLOADS: objects.workloads(api.workloads()),
        }
    for resource in (JOBS, NODES, PODS, SYSTEM_PRIORITIES):
        bodies = map(msgspec.json.encode, shown.get(resource, ()))
        found[resource] = [decode(body, resource.type, "Looking") for body in bodies]
    for resource, known in found.items():
        store: Store[Any] = cluster.view.store(resource)
        store.replace(known)
        store.prove()


def node(name: str, gpus: str = "8", label: tuple[str, str] | None = LABEL) -> dict[str, Any]:
    """A ready node."""
    labels = dict([label]) if label else {}
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": labels},
        "spec": {},
        "status": {"allocatable": {GPUS: gpus}, "conditions": [ready]},
    }


def pod(name: str, on: str = "", said: str = "") -> dict[str, Any]:
    """A pod of run r1; `said` is why no node takes it."""
    status = "True" if on else "False"
    scheduled = {"type": "PodScheduled", "status": status, "message": said}
    return {
        "metadata": {"name": name, "namespace": "team-a", "uid": name, "labels": RUN},
        "spec": {"nodeName": on, "containers": []},
        "status": {"phase": "Pending", "conditions": [scheduled] if on or said else []},
    }


def job(name: str, uid: str) -> dict[str, Any]:
    """The Job of run r1."""
    metadata = {"name": name, "namespace": "team-a", "uid": uid, "labels": RUN}
    return {"metadata": {**metadata, "resourceVersion": "1"}}
