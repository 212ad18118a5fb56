"""Run:ai as a world has it: the projects of the teams, and what their pods use and wait for."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from playground.cluster.cluster import Cluster
from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.scheduler import pod_requests
from playground.cluster.objects.kinds import Object
from playground.cluster.story import GPU, PRODUCT, TEAMS
from playground.ledger import Ledger
from playground.runai.app import RunaiApp
from playground.runai.estate import CLIENT, CLUSTER, SECRET, Json, Tenant

POOL = "h100"
_QUEUE = "runai/queue"


class Runai:
    """Serves the tenant of one cluster once it has an address."""

    def __init__(self, ledger: Ledger, now: Callable[[], datetime], cluster: Cluster) -> None:
        self.app = RunaiApp(ledger, now)
        self.app.refresh = self._refresh
        self.app.tenant.has_namespace = lambda name: cluster.get("namespaces", name) is not None
        self.url = ""
        self._cluster = cluster
        self.tenant.add_node_pool(POOL, next(iter(PRODUCT.items())))
        for team, gpus in TEAMS.items():
            self.tenant.add_project(team, {POOL: float(gpus)}, namespace=team)

    @property
    def tenant(self) -> Tenant:
        """What it has."""
        return self.app.tenant

    def settings(self, name: str, files: Path) -> dict[str, Any]:
        """What the bot is told of it; its secret is written into a file of `files`."""
        secret = files / "runai-client-secret"
        secret.touch(mode=0o600)
        secret.write_text(SECRET, encoding="utf-8")
        runai = {
            "url": self.url,
            "cluster_id": CLUSTER,
            "client_id": CLIENT,
            "client_secret_file": str(secret),
        }
        return {"clusters": {name: {"runai": runai}}}

    def _refresh(self) -> None:
        """Counts what is in use, and lists a workload for each Job with live pods."""
        pods = [
            pod
            for pod in self._cluster.list("pods")
            if _QUEUE in (pod["metadata"].get("labels") or {}) and not is_ended(pod)
        ]
        placed = [pod for pod in pods if pod["spec"].get("nodeName")]
        projects = {pod["metadata"]["labels"][_QUEUE] for pod in placed}
        self.tenant.used = {
            (project, POOL): float(_gpus(p for p in placed if _project(p) == project))
            for project in projects
        }
        owners = dict.fromkeys(map(_owner, pods))
        self.tenant.workloads = [
            _workload(key, [pod for pod in pods if _owner(pod) == key]) for key in owners
        ]


def tenants(
    ledger: Ledger, now: Callable[[], datetime], clusters: Mapping[str, Cluster]
) -> dict[str, Runai]:
    """The Run:ai of each cluster that has one, by the cluster's name."""
    return {
        name: Runai(ledger, now, each) for name, each in clusters.items() if each.engine == "runai"
    }


def _workload(owner: tuple[str, str, str, str], pods: list[Object]) -> Json:
    uid, kind, namespace, name = owner
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    return {
        "id": uid,
        "name": name,
        "type": kind,
        "namespace": namespace,
        "projectName": _project(pods[0]),
        "clusterId": CLUSTER,
        "phase": "Running" if placed else "Pending",
        "createdAt": min(pod["metadata"]["creationTimestamp"] for pod in pods),
        "workloadRequestedResources": {"gpu": {"request": float(_gpus(pods))}},
        "allocatedResources": {"gpu": float(_gpus(placed))} if placed else {},
        "currentNodePools": [POOL] if placed else [],
    }


def _owner(pod: Object) -> tuple[str, str, str, str]:
    """Uid, kind, namespace and name of what the pod belongs to."""
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or [
        {"uid": metadata["uid"], "kind": "Pod", "name": metadata["name"]}
    ]
    first = owners[0]
    return first["uid"], first["kind"], metadata["namespace"], first["name"]


def _project(pod: Object) -> str:
    return str(pod["metadata"]["labels"][_QUEUE])


def _gpus(pods: Iterable[Object]) -> Decimal:
    """What they request, in GPUs."""
    zero = Decimal(0)
    return sum((pod_requests(pod["spec"]).get(GPU, zero) for pod in pods), zero)
