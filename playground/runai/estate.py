"""What a tenant of Run:ai has: one cluster with its node pools, projects and workloads."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from playground.runai.refusals import RunaiRefusalError, bad_request, missing

CLUSTER = "71f69d83-ba66-4822-adf5-55ce55efd210"
CLIENT, SECRET = "quartermaster", "not-a-real-secret"  # of the playground
TOKEN_LIFE = timedelta(hours=1)
Json = dict[str, Any]


@dataclass
class Tenant:
    """A tenant; `now` is its clock. What projects use, and workloads, are set from outside."""

    now: Callable[[], datetime]
    cluster_name: str = "gpu-cluster"
    secret: str = SECRET
    node_pools: dict[str, Json] = field(default_factory=dict)
    projects: dict[str, Json] = field(default_factory=dict)
    workloads: list[Json] = field(default_factory=list)
    tokens: dict[str, datetime] = field(default_factory=dict)
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    """GPUs in use, by the names of project and node pool."""

    def add_node_pool(self, name: str, label: tuple[str, str] | None = None) -> None:
        """Adds a node pool of the nodes with a label; without one it is the default pool."""
        key, value = label or ("", "")
        self.node_pools[name] = {
            "id": str(100_001 + len(self.node_pools)),
            "name": name,
            "clusterId": CLUSTER,
            "labelKey": key,
            "labelValue": value,
            "isDefault": label is None,
            "phase": "Ready",
        }

    def add_project(
        self, name: str, quotas: Mapping[str, float], namespace: str = "", limit: float | None = -1
    ) -> None:
        """Adds a project with a quota in each of its node pools, by their names."""
        resources = [
            {
                "nodePool": {"id": self.node_pools[pool]["id"], "name": pool},
                "gpu": {"deserved": quota, "limit": limit, "overQuotaWeight": 2},
                "cpu": {"limit": -1, "overQuotaWeight": 2},
                "memory": {"limit": -1, "overQuotaWeight": 2, "units": "Mib"},
                "rank": "MediumLow",
            }
            for pool, quota in quotas.items()
        ]
        self.projects[name] = {
            "id": str(4_530_101 + len(self.projects)),
            "name": name,
            "clusterId": CLUSTER,
            "parentId": "4529673",
            "parent": {"id": "4529673", "name": "default"},
            "enforceRunaiScheduler": True,
            "requestedNamespace": namespace,
            "resources": resources,
            "namespace": namespace or f"runai-{name}",
            "phase": "Ready",
        }

    def grant(self, asked: Json) -> Json:
        """A token for the right credentials."""
        if (asked["clientID"], asked["clientSecret"]) != (CLIENT, self.secret):
            raise RunaiRefusalError(401, "invalid client credentials")
        token = f"playground-token-{len(self.tokens) + 1}"
        self.tokens[token] = self.now() + TOKEN_LIFE
        return {"accessToken": token, "expiresIn": int(TOKEN_LIFE.total_seconds())}

    def admit(self, authorization: str) -> None:
        """Refuses a request without a valid token."""
        scheme, _, token = authorization.partition(" ")
        if scheme != "Bearer" or self.tokens.get(token, self.now()) <= self.now():
            raise RunaiRefusalError(401, "the token is missing, unknown or has expired")

    def cluster(self, uuid: str) -> Json:
        """The cluster, by its UUID."""
        if uuid != CLUSTER:
            raise missing(f"cluster {uuid}")
        return {"uuid": CLUSTER, "name": self.cluster_name, "version": "2.24.11", "tenantId": 1001}

    def listed_projects(self) -> list[Json]:
        """All projects as the API returns them, with what they use; zeros are left out."""
        return [self._shown(each) for each in self.projects.values()]

    def patch(self, project_id: str, wanted: Sequence[Json]) -> list[Json]:
        """Changes what a project may use, attribute by attribute; what it may use then."""
        project = next((p for p in self.projects.values() if p["id"] == project_id), None)
        if project is None:
            raise missing(f"project {project_id}")
        changed = copy.deepcopy(project["resources"])
        for each in wanted:
            pool = each["nodePool"]["id"]
            own = next((own for own in changed if own["nodePool"]["id"] == pool), None)
            if own is None:
                raise bad_request(f"node pool {pool} does not belong to the cluster of the project")
            for name in ("gpu", "cpu", "memory"):
                own[name] |= each.get(name) or {}
            if each.get("rank"):
                own["rank"] = each["rank"]
            limit = own["gpu"]["limit"]
            if limit is not None and 0 <= limit < own["gpu"]["deserved"]:
                raise bad_request("gpu.limit must not be less than gpu.deserved")
        project["resources"] = changed
        return copy.deepcopy(changed)

    def quota(self, project: str, pool: str) -> float:
        """The GPUs that a project deserves in a node pool."""
        return float(self._share(project, pool)["deserved"])

    def set_quota(self, project: str, pool: str, quota: float) -> None:
        """What an administrator does in Run:ai's own pages."""
        self._share(project, pool)["deserved"] = quota

    def _share(self, project: str, pool: str) -> Json:
        found = self.projects[project]["resources"]
        share: Json = next(each["gpu"] for each in found if each["nodePool"]["name"] == pool)
        return share

    def _shown(self, project: Json) -> Json:
        shown = copy.deepcopy(project)
        namespace, phase = shown.pop("namespace"), shown.pop("phase")
        usage = []
        for each in shown["resources"]:
            pool = each["nodePool"]
            gpus = self.used.get((project["name"], pool["name"]), 0)
            allocated = {"gpu": gpus} if gpus else {}
            usage.append(
                {
                    "nodePoolId": pool["id"],
                    "nodePoolName": pool["name"],
                    "allocated": allocated,
                    "allocatedNonPreemptible": {},
                    "requested": allocated,
                }
            )
        shown["status"] = {
            "namespace": namespace,
            "phase": phase,
            "nodePoolQuotaStatuses": usage,
        }
        return shown
