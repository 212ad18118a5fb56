"""KubeRay's RayClusters: a head and groups of workers, whose pods start Ray and nothing else."""

from collections.abc import Iterable, Iterator
from typing import Any

from playground.cluster.control.world import World
from playground.cluster.objects.kinds import POD, RAY_CLUSTER, SERVICE, Object
from playground.cluster.objects.store import Change, Key, key_of
from playground.cluster.operators.replicas import create, in_phase, pods_of, write

CLUSTER, NODE_TYPE, GROUP = "ray.io/cluster", "ray.io/node-type", "ray.io/group"
READY = "ready"
_HEAD_GROUP = "headgroup"
_ENDED = {"Succeeded", "Failed"}


class RayClusters:
    """Runs RayClusters of ray.io/v1."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """RayClusters that changed, and those whose pods did."""
        if change.kind == RAY_CLUSTER.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == POD.qualified:
            name = (change.obj["metadata"].get("labels") or {}).get(CLUSTER)
            if name:
                yield change.key[0], name

    def reconcile(self, key: Key) -> None:
        """Brings a RayCluster one look further."""
        cluster = self._world.store.edit(RAY_CLUSTER, *key)
        if cluster is None or cluster["metadata"].get("deletionTimestamp"):
            return
        create(self._world, RAY_CLUSTER, cluster, SERVICE, _service(cluster))
        for template, node_type, group, count in _groups(cluster):
            self._match(cluster, _pod(cluster, template, node_type, group), group, count)
        pods = pods_of(self._world, cluster)
        status = cluster.setdefault("status", {})
        wanted = sum(count for *_, count in _groups(cluster))
        status["desiredWorkerReplicas"] = wanted - 1
        workers = [pod for pod in pods if pod["metadata"]["labels"][GROUP] != _HEAD_GROUP]
        status["readyWorkerReplicas"] = in_phase(workers, "Running")
        if in_phase(pods, "Running") == wanted:
            status["state"] = READY
        write(self._world, RAY_CLUSTER, cluster, lambda _obj: None)

    def _match(self, cluster: Object, pod: Object, group: str, count: int) -> None:
        """Replaces the pods of a group that have ended, and makes those that are missing."""
        found = [
            each
            for each in pods_of(self._world, cluster)
            if each["metadata"]["labels"][GROUP] == group
        ]
        for each in found:
            if each["status"].get("phase") in _ENDED:
                self._world.deletion.delete(POD, key_of(each))
        left = [each for each in found if each["status"].get("phase") not in _ENDED]
        for _ in range(count - len(left)):
            stem = pod["metadata"]["generateName"]
            metadata = {**pod["metadata"], "name": stem + self._world.operations.suffix()}
            create(self._world, RAY_CLUSTER, cluster, POD, {**pod, "metadata": metadata})


def head_address(cluster: Object) -> str:
    """Where Ray's dashboard answers."""
    space = cluster["metadata"]["namespace"]
    return f"{_service(cluster)['metadata']['name']}.{space}.svc.cluster.local:8265"


def _groups(cluster: Object) -> Iterator[tuple[Object, str, str, int]]:
    spec = cluster["spec"]
    yield spec["headGroupSpec"]["template"], "head", _HEAD_GROUP, 1
    for row in spec.get("workerGroupSpecs") or ():
        yield row["template"], "worker", row["groupName"], row.get("replicas", 0)


def _service(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    selector = {CLUSTER: name, NODE_TYPE: "head"}
    ports = [{"name": "dashboard", "port": 8265}, {"name": "gcs-server", "port": 6379}]
    spec = {"clusterIP": "None", "selector": selector, "ports": ports}
    return {"metadata": {"name": f"{name}-head-svc", "labels": selector}, "spec": spec}


def _pod(cluster: Object, template: Object, node_type: str, group: str) -> Object:
    name = cluster["metadata"]["name"]
    own = template.get("metadata") or {}
    part = "head" if node_type == "head" else f"{group}-worker"
    metadata = {
        "generateName": f"{name}-{part}-",
        "labels": {
            **(own.get("labels") or {}),
            CLUSTER: name,
            NODE_TYPE: node_type,
            GROUP: group,
        },
        "annotations": dict(own.get("annotations") or {}),
    }
    first, *others = template["spec"]["containers"]
    spec = {**template["spec"], "containers": [_started(first, node_type), *others]}
    return {"metadata": metadata, "spec": spec}


def _started(container: dict[str, Any], node_type: str) -> dict[str, Any]:
    """The container that runs Ray: what the template has it run comes before that."""
    own = " ".join([*(container.get("command") or ()), *(container.get("args") or ())])
    begin = "ray start --head" if node_type == "head" else "ray start"
    text = f"ulimit -n 65536; {begin} --block"
    args = [f"{own} && {text}" if own else text]
    return {**container, "command": ["/bin/bash", "-c", "--"], "args": args}
