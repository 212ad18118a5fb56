"""How Kueue starts and stops a job: by its suspend field, with the flavor's nodes in its pods."""

from collections.abc import Callable, Iterator
from typing import Any

from playground.cluster.control.world import World
from playground.cluster.kueue.frameworks import Framework, Info
from playground.cluster.objects.conditions import condition, set_condition
from playground.cluster.objects.kinds import FLAVOR, POD, Object
from playground.cluster.objects.store import key_of


def start_job(world: World, framework: Framework, job: Object, workload: Object) -> None:
    """Resumes the job of an admitted Workload, bound to the nodes of its flavors."""
    if not framework.suspended(job):
        return
    admission = workload["status"]["admission"]
    infos = [_info(world, workload, row) for row in admission["podSetAssignments"]]
    _update(world, framework, job, lambda obj: framework.start(obj, infos))
    why = ("Started", f"Admitted by clusterQueue {admission['clusterQueue']}")
    world.record(framework.kind, job, why, framework.source)


def _info(world: World, workload: Object, row: dict[str, Any]) -> Info:
    nodes: dict[str, str] = {}
    tolerations: list[object] = []
    for name in sorted(set((row.get("flavors") or {}).values())):
        spec = (world.store.get(FLAVOR, "", name) or {}).get("spec") or {}
        nodes |= spec.get("nodeLabels") or {}
        tolerations += spec.get("tolerations") or []
    labels = {
        "kueue.x-k8s.io/podset": row["name"],
        "kueue.x-k8s.io/local-queue-name": workload["spec"]["queueName"],
        "kueue.x-k8s.io/cluster-queue-name": workload["status"]["admission"]["clusterQueue"],
    }
    notes = {"kueue.x-k8s.io/workload": workload["metadata"]["name"]}
    return Info(row["name"], labels, notes, nodes, tolerations, row["count"])


def stop_job(world: World, framework: Framework, job: Object, workload: Object) -> None:
    """Suspends a job that holds no quota (any more), its templates as they were sent."""
    if framework.suspended(job):
        return
    _disrupt(world, job, workload)
    sent = workload["spec"]["podSets"]
    _update(world, framework, job, lambda obj: framework.stop(obj, sent))
    row = condition(workload, "Evicted") or {"message": "Not admitted by cluster queue"}
    world.record(framework.kind, job, ("Stopped", row["message"]), framework.source)


def _update(
    world: World, framework: Framework, job: Object, edit: Callable[[Object], None]
) -> None:
    def counted(obj: Object) -> None:
        edit(obj)
        obj["metadata"]["generation"] += 1

    world.change(framework.kind, key_of(job), counted)


def pods_below(world: World, uid: str) -> Iterator[Object]:
    """The pods that an object owns, itself or through what it owns."""
    for kind, owned in world.store.owned_by(uid):
        if kind == POD.qualified:
            yield owned
        else:
            yield from pods_below(world, owned["metadata"]["uid"])


def _disrupt(world: World, job: Object, workload: Object) -> None:
    """Marks the pods of a preempted Job as disrupted, so that their end is no failure."""
    row = condition(workload, "Preempted")
    if row is None or row["status"] != "True":
        return
    why, now = ("PreemptionByKueue", row["message"]), world.now

    def edit(pod: Object) -> None:
        set_condition(pod, "DisruptionTarget", status=True, why=why, now=now)

    for pod in list(pods_below(world, job["metadata"]["uid"])):
        if pod["status"]["phase"] not in {"Succeeded", "Failed"}:
            world.change(POD, key_of(pod), edit)
