"""What a tenant of Run:ai has: one cluster with its node pools, projects and workloads."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from playground.runai.refusals import RunaiRefusalError, bad_request, missing, taken

CLUSTER = "71f69d83-ba66-4822-adf5-55ce55efd210"
DEPARTMENT, DEPARTMENT_QUOTA = "default", 64.0
CLIENT, SECRET = "quartermaster", "not-a-real-secret"  # of the playground
_NO_NAMESPACE = "NamespaceHandlerFailed"
TOKEN_LIFE = timedelta(hours=1)
Json = dict[str, Any]


@dataclass
class Tenant:
    """A tenant; `now` is its clock. What projects use, and workloads, are set from outside.

    `has_namespace` says whether the cluster has a namespace, which a project can then have.
    """

    now: Callable[[], datetime]
    cluster_name: str = "gpu-cluster"
    secret: str = SECRET
    node_pools: dict[str, Json] = field(default_factory=dict)
    projects: dict[str, Json] = field(default_factory=dict)
    workloads: list[Json] = field(default_factory=list)
    tokens: dict[str, datetime] = field(default_factory=dict)
    departments: dict[str, Json] = field(default_factory=dict)
    has_namespace: Callable[[str], bool] = lambda _name: True
    is_slow: bool = False
    """Whether what is created or deleted stays as it is for now, as while a cluster is away."""
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    """GPUs in use, by the names of project and node pool."""
    _ids: int = 4_530_100

    def __post_init__(self) -> None:
        """Each tenant has a department."""
        self.add_department(DEPARTMENT)

    def add_department(self, name: str, quota: float = DEPARTMENT_QUOTA) -> None:
        """Adds a department with that quota in each node pool."""
        pools = [(pool["id"], pool["name"]) for pool in self.node_pools.values()]
        self.departments[name] = {
            "id": str(4_529_673 + len(self.departments)),
            "name": name,
            "clusterId": CLUSTER,
            "resources": [_share_of(*pool, quota) for pool in pools],
        }

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
        for department in self.departments.values():
            share = _share_of(self.node_pools[name]["id"], name, DEPARTMENT_QUOTA)
            department["resources"].append(share)

    def add_project(
        self, name: str, quotas: Mapping[str, float], namespace: str = "", limit: float | None = -1
    ) -> None:
        """Adds a project with a quota in each of its node pools, by their names."""
        resources = [
            _share_of(self.node_pools[pool]["id"], pool, quota, limit)
            for pool, quota in quotas.items()
        ]
        self._add(name, self.departments[DEPARTMENT], namespace, resources)

    def _add(self, name: str, department: Json, namespace: str, resources: list[Json]) -> Json:
        self._ids += 1
        self.projects[name] = {
            "id": str(self._ids),
            "name": name,
            "clusterId": CLUSTER,
            "parentId": department["id"],
            "parent": {"id": department["id"], "name": department["name"]},
            "enforceRunaiScheduler": True,
            "requestedNamespace": namespace,
            "resources": resources,
            "namespace": namespace or f"runai-{name}",
            "phase": "Ready",
        }
        return self.projects[name]

    def create(self, asked: Json) -> Json:
        """A new project; other node pools than the named ones have no quota for it.

        Run:ai recommends that the projects of a department together have no more quota than the
        department. Whether it refuses more is not documented; this tenant does.
        """
        if asked["clusterId"] != CLUSTER:
            raise bad_request(f"cluster {asked['clusterId']} is unknown")
        if asked["name"] in self.projects:
            raise taken(f"project {asked['name']}")
        department = self._department(asked.get("parentId"))
        namespace = asked.get("requestedNamespace") or ""
        if any(namespace == each["namespace"] for each in self.projects.values()):
            raise bad_request(f"namespace {namespace} belongs to another project")
        unknown = set(asked.get("defaultNodePools") or ()) - set(self.node_pools)
        if unknown:
            raise bad_request(f"node pools are unknown: {', '.join(sorted(unknown))}")
        empty = [_share_of(pool["id"], pool["name"], 0) for pool in self.node_pools.values()]
        resources = self._changed(empty, asked["resources"])
        self._refuse_excess(department, resources)
        project = self._add(asked["name"], department, namespace, resources)
        project["description"] = asked.get("description", "")
        project["phase"] = "Creating"
        return self._shown(project)

    def delete(self, project_id: str) -> None:
        """Begins to delete a project. Its namespace stays, and what runs in it."""
        self._project(project_id)["phase"] = "Deleting"
        self.settle()

    def settle(self) -> None:
        """What Run:ai does in the background: prepares new projects, and ends deleted ones."""
        if self.is_slow:
            return
        for name, project in list(self.projects.items()):
            if project["phase"] == "Deleting":
                del self.projects[name]
            elif project["phase"] == "Creating" or project.get("phaseMessage") == _NO_NAMESPACE:
                is_ready = self.has_namespace(project["namespace"])
                project["phase"] = "Ready" if is_ready else "NotReady"
                project["phaseMessage"] = "" if is_ready else _NO_NAMESPACE

    def listed_departments(self) -> list[Json]:
        """All departments as the API returns them."""
        return copy.deepcopy(list(self.departments.values()))

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
        project = self._project(project_id)
        changed = self._changed(project["resources"], wanted)
        department = self._department(project["parentId"])
        self._refuse_excess(department, changed, besides=project["name"])
        project["resources"] = changed
        return copy.deepcopy(changed)

    def _project(self, project_id: str) -> Json:
        project = next((p for p in self.projects.values() if p["id"] == project_id), None)
        if project is None:
            raise missing(f"project {project_id}")
        return project

    def _department(self, department_id: str | None) -> Json:
        """The department of that id; without an id, the usual one."""
        if department_id is None:
            return self.departments[DEPARTMENT]
        found = (e for e in self.departments.values() if e["id"] == department_id)
        department = next(found, None)
        if department is None:
            raise bad_request(f"department {department_id} is unknown")
        return department

    def _refuse_excess(
        self, department: Json, resources: Sequence[Json], besides: str = ""
    ) -> None:
        """Refuses quotas of which a department has fewer than its projects together."""
        others = [
            each
            for project in self.projects.values()
            if project["parentId"] == department["id"] and project["name"] != besides
            for each in project["resources"]
        ]
        for each in department["resources"]:
            pool = each["nodePool"]
            together = sum(
                share["gpu"]["deserved"]
                for share in (*others, *resources)
                if share["nodePool"]["id"] == pool["id"]
            )
            if together > each["gpu"]["deserved"]:
                raise bad_request(
                    f"department {department['name']} has a quota of {each['gpu']['deserved']:g}"
                    f" GPUs in node pool {pool['name']}, and its projects would have {together:g}"
                )

    def _changed(self, own: Sequence[Json], wanted: Sequence[Json]) -> list[Json]:
        changed = copy.deepcopy(list(own))
        for each in wanted:
            pool = each["nodePool"]["id"]
            share = next((one for one in changed if one["nodePool"]["id"] == pool), None)
            if share is None:
                raise bad_request(f"node pool {pool} does not belong to the cluster of the project")
            for name in ("gpu", "cpu", "memory"):
                share[name] |= each.get(name) or {}
            if each.get("rank"):
                share["rank"] = each["rank"]
            limit = share["gpu"]["limit"]
            if limit is not None and 0 <= limit < share["gpu"]["deserved"]:
                raise bad_request("gpu.limit must not be less than gpu.deserved")
        return changed

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
        message = shown.pop("phaseMessage", "")
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
        if message:
            shown["status"]["phaseMessage"] = message
        return shown


def _share_of(pool_id: str, pool: str, quota: float, limit: float | None = -1) -> Json:
    """What an organisation may use of a node pool."""
    return {
        "nodePool": {"id": pool_id, "name": pool},
        "gpu": {"deserved": quota, "limit": limit, "overQuotaWeight": 2},
        "cpu": {"limit": -1, "overQuotaWeight": 2},
        "memory": {"limit": -1, "overQuotaWeight": 2, "units": "Mib"},
        "rank": "MediumLow",
    }
