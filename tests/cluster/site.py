"""What a test adds to a cluster, and takes away at its end: teams, queues, nodes, claims."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from playground.cluster import story
from tests.cluster import rights
from tests.cluster.api import Api, Object, wait_for
from tests.cluster.kwok import MANAGED

JOBS = "jobs.batch"
WORKLOADS = "workloads.kueue.x-k8s.io"
CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
LOCAL_QUEUES = "localqueues.kueue.x-k8s.io"
FLAVORS = "resourceflavors.kueue.x-k8s.io"
ZONE = "topology.kubernetes.io/zone"
_UNIQUE, _MARK = "quartermaster-test-", {"quartermaster.test/made": "yes"}
_RUNS = (
    JOBS,
    "mpijobs.kubeflow.org",
    "pytorchjobs.kubeflow.org",
    "rayjobs.ray.io",
    "trainjobs.trainer.kubeflow.org",
)
# What a namespace that is kept is cleared of besides.
_CONTENT = (
    LOCAL_QUEUES,
    rights.BINDINGS,
    "persistentvolumeclaims",
    "secrets",
    "services",
    "ingresses.networking.k8s.io",
)
# Taken away in this order; a queue stays as long as its workloads do.
_ORDER = ("namespaces", CLUSTER_QUEUES, "cohorts.kueue.x-k8s.io", FLAVORS)


@dataclass
class Site:
    """One test's part of a cluster; every `add_` names what it made, `close` removes all of it.

    Only namespaces and what lives in them may be added to a cluster that is not our own.
    """

    api: Api
    _made: list[tuple[str, str]] = field(default_factory=list)

    def add(self, resource: str, body: Object) -> str:
        """Adds an object of the whole cluster."""
        self.api.create(resource, body)
        name: str = body["metadata"]["name"]
        self._made.append((resource, name))
        return name

    def add_namespace(self, name: str = "", labels: Mapping[str, str] | None = None) -> str:
        """Adds a namespace in which pods can run, with a name of its own unless one is given.

        One with a given name may be there from an earlier test, empty.
        """
        name = name or f"{_UNIQUE}{secrets.token_hex(3)}"
        there = self.api.get("namespaces", name)
        if there and _MARK.items() <= there["metadata"].get("labels", {}).items():
            self._made.append(("namespaces", name))
            return name
        self.add("namespaces", {"metadata": {"name": name, "labels": {**_MARK, **(labels or {})}}})
        wait_for(lambda: self.api.get("serviceaccounts", "default", name), "the service account")
        return name

    def add_team(self, gpus: str, name: str = "", cohort: str = "gpus", **more: str) -> str:
        """Adds a namespace with queues of its name, where the bot has a team's rights.

        `more` is what `playground.cluster.story.cluster_queue` takes, such as borrowing="8".
        """
        name = self.add_namespace(name)
        self.add_queue(story.cluster_queue(name, gpus, cohort, **more))
        self.let_bot_into(name)
        return name

    def add_queue(self, body: Object) -> None:
        """Adds a ClusterQueue, and in the namespace of its name a LocalQueue that leads there."""
        name = self.add(CLUSTER_QUEUES, body)
        local = {"metadata": {"name": name}, "spec": {"clusterQueue": name}}
        self.api.create(LOCAL_QUEUES, local, name)

    def let_bot_into(self, namespace: str, role: str = "quartermaster-team") -> None:
        """Gives the bot a team's rights in a namespace, or those of another role."""
        rights.let_bot_into(self.api, namespace, role)

    def add_flavor(self, name: str = "h100", labels: dict[str, str] | None = None) -> str:
        """Adds a ResourceFlavor, of the usual GPU nodes unless labels are given."""
        return self.add(FLAVORS, story.flavor(name, labels))

    def add_node(
        self, name: str, gpus: int = 8, more: Mapping[str, str] | None = None, **labels: str
    ) -> str:
        """Adds a node that KWOK plays, with `more` resources; returns when it is ready.

        Labels are those of the usual H100 nodes, of zone "a", and `labels` over them.
        """
        every = {**story.PRODUCT, ZONE: "a", **labels}
        resources = {**story.NODE_RESOURCES, story.GPU: str(gpus), **(more or {})}
        body = story.node_body(name, resources, every, datetime.now(UTC))
        body["metadata"]["annotations"] = dict(MANAGED)
        del body["status"]["conditions"], body["status"]["addresses"]
        self.add("nodes", body)
        wait_for(lambda: self._is_ready(name), f"node {name}")
        return name

    def add_claim(self, namespace: str, name: str, size: str = "1Ti", **spec: Any) -> None:
        """Adds a bound PersistentVolumeClaim, ReadWriteMany unless `spec` says otherwise."""
        claim = story.claim(name, size)
        claim["spec"] |= spec
        self.api.create("persistentvolumeclaims", claim, namespace)
        wait_for(lambda: self._is_bound(namespace, name), f"claim {name}")

    def job(self, namespace: str, body: Object) -> Object:
        """Creates a Job."""
        return self.api.create(JOBS, body, namespace)

    def condition(self, resource: str, name: str, namespace: str, kind: str) -> Object | None:
        """A condition of an object that is True now, or None."""
        found = self.api.get(resource, name, namespace) or {}
        conditions = found.get("status", {}).get("conditions", ())
        true = (each for each in conditions if each["type"] == kind and each["status"] == "True")
        return next(true, None)

    def empty(self, namespace: str) -> None:
        """Takes away the runs of a namespace; returns when nothing of them is left."""
        for resource in _RUNS:
            if self.api.serves(resource):
                self.api.delete(resource, "", namespace)
        for resource in ("pods", WORKLOADS):
            wait_for(partial(self._is_empty, resource, namespace), f"the end of all {resource}")

    def close(self) -> None:
        """Takes everything away; returns when it is gone.

        Namespaces are empty then. Those whose names nobody uses again go in their own time, the
        others stay: Kubernetes takes some seconds for the end of each.
        """
        for resource, name in self._made:
            if resource == "namespaces":
                self.empty(name)
        known = [resource for resource in _ORDER if any(r == resource for r, _ in self._made)]
        others = [resource for resource, _ in self._made if resource not in known]
        for resource in [*known, *dict.fromkeys(others)]:
            self._remove(resource, [name for made, name in self._made if made == resource])
        self._made.clear()

    def _remove(self, resource: str, names: Sequence[str]) -> None:
        kept = [name for name in names if resource == "namespaces" and _is_kept(name)]
        for namespace in kept:
            self._clear(namespace)
        gone = [name for name in names if name not in kept]
        for name in gone:
            self.api.delete(resource, name)
        if resource != "namespaces":
            for name in gone:
                wait_for(partial(self._is_gone, resource, name), f"the end of {resource} {name}")

    def _clear(self, namespace: str) -> None:
        for content in _CONTENT:
            self.api.delete(content, "", namespace)
        for content in _CONTENT:
            wait_for(partial(self._is_empty, content, namespace), f"the end of all {content}")

    def _is_empty(self, resource: str, namespace: str) -> bool:
        return not self.api.list(resource, namespace)

    def _is_gone(self, resource: str, name: str) -> bool:
        return self.api.get(resource, name) is None

    def _is_ready(self, node: str) -> bool:
        return self.condition("nodes", node, "", "Ready") is not None

    def _is_bound(self, namespace: str, name: str) -> bool:
        found = self.api.get("persistentvolumeclaims", name, namespace) or {}
        return bool(found.get("status", {}).get("phase") == "Bound")


def _is_kept(namespace: str) -> bool:
    return not namespace.startswith(_UNIQUE)
