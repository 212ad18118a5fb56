"""Elastic jobs: a job that grows gets a second Workload, which replaces the first once admitted."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.job_counts import is_active
from playground.cluster.control.world import World
from playground.cluster.kueue.starting import pods_below
from playground.cluster.kueue.transitions import say
from playground.cluster.kueue.workloads import (
    Usage,
    admission,
    held,
    is_evicted,
    is_finished,
    is_reserved,
    new_workload,
    workload_name,
)
from playground.cluster.objects.kinds import POD, WORKLOAD, Object
from playground.cluster.objects.store import key_of

ELASTIC = "kueue.x-k8s.io/elastic-job"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
SLICE_NAME = "kueue.x-k8s.io/workload-slice-name"
Sets = list[dict[str, Any]]


def is_elastic(job: Object) -> bool:
    """Whether a job says that it may grow and shrink while it runs."""
    return (job["metadata"].get("annotations") or {}).get(ELASTIC) == "true"


def gate(job: Object) -> None:
    """Keeps the pods of an elastic Job from nodes until their quota is there, in place."""
    spec = job["spec"]["template"]["spec"]
    gates = spec.setdefault("schedulingGates", [])
    if not any(row["name"] == ELASTIC for row in gates):
        gates.append({"name": ELASTIC})


def replaced_in(workloads: Iterable[Object], workload: Object) -> Object | None:
    """The Workload among these that another one would replace."""
    name = _replaces(workload)
    if not name:
        return None
    return next((other for other in workloads if "/".join(key_of(other)) == name), None)


def freed_by(workloads: Iterable[Object], workload: Object) -> Usage:
    """What becomes free when a Workload is admitted in place of another."""
    old = replaced_in(workloads, workload)
    return held(old) if old is not None else {}


def replace_slice(world: World, workload: Object) -> None:
    """Ends the Workload that another one was admitted for."""
    old = replaced_in(world.store.all(WORKLOAD, workload["metadata"]["namespace"]), workload)
    if old is None or is_finished(old):
        return
    metadata = workload["metadata"]
    owner = metadata.get("labels", {}).get("kueue.x-k8s.io/job-uid", "")
    words = (
        f"Replaced to accommodate a workload (UID: {metadata['uid']}, JobUID: {owner}) due to "
        "workload slice aggregation"
    )
    why, now = ("WorkloadSliceReplaced", words), world.now
    kept = world.change(WORKLOAD, key_of(old), lambda obj: say(obj, "Finished", now, why))
    if kept is not None:
        world.record(WORKLOAD, kept, why, "kueue-admission")


class Slices:
    """Keeps the Workloads of elastic jobs as large as the jobs."""

    def __init__(self, world: World) -> None:
        self._world = world

    def follow(self, job: Object, sets: Sets, priority: tuple[int, Any]) -> Object | None:
        """The Workload by which a job runs or waits; one more is made when it grows."""
        live = self._live(job)
        if not live:
            return None
        last = live[-1]
        if _counts(sets) != _counts(last["spec"]["podSets"]):
            grows = sum(_counts(sets).values()) > sum(_counts(last["spec"]["podSets"]).values())
            if is_reserved(last) and grows:
                self._grow(job, last, sets, priority)
            else:
                last = self._resize(last, sets) or last
        running = [w for w in self._live(job) if is_reserved(w) and not is_evicted(w)]
        if running:
            self._let_in(job, running[-1])
        return running[-1] if running else last

    def _live(self, job: Object) -> list[Object]:
        """The Workloads of a job that are not over, the youngest last."""
        owned = self._world.store.owned_by(job["metadata"]["uid"], WORKLOAD)
        live = [workload for _, workload in owned if not is_finished(workload)]
        return sorted(live, key=lambda workload: bool(_replaces(workload)))

    def _grow(self, job: Object, old: Object, sets: Sets, priority: tuple[int, Any]) -> None:
        body = new_workload(job, sets, *priority)
        space = job["metadata"]["namespace"]
        notes = old["metadata"].get("annotations") or {}
        generation = job["metadata"]["generation"]
        body["metadata"]["name"] = f"{workload_name(job)[:57]}-{generation}"
        body["metadata"]["annotations"] = {
            ELASTIC: "true",
            REPLACES: "/".join(key_of(old)),
            SLICE_NAME: notes.get(SLICE_NAME, old["metadata"]["name"]),
        }
        if self._world.store.get(WORKLOAD, space, body["metadata"]["name"]) is None:
            self._world.operations.create(WORKLOAD, space, body)

    def _resize(self, workload: Object, sets: Sets) -> Object | None:
        counts = _counts(sets)

        def edit(obj: Object) -> None:
            for row in obj["spec"]["podSets"]:
                row["count"] = counts[row["name"]]
            given = obj["status"].get("admission")
            if given:
                chosen = {row["name"]: row["flavors"] for row in given["podSetAssignments"]}
                fresh = {**obj, "metadata": {**obj["metadata"], "uid": ""}}
                obj["status"]["admission"] = admission(given["clusterQueue"], fresh, chosen)

        return self._world.change(WORKLOAD, key_of(workload), edit)

    def _let_in(self, job: Object, workload: Object) -> None:
        """Lets as many pods onto nodes as the admitted Workload counts."""
        pods = [pod for pod in pods_below(self._world, job["metadata"]["uid"]) if is_active(pod)]
        pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
        waiting = [pod for pod in pods if _gated(pod)]
        allowed = sum(_counts(workload["spec"]["podSets"]).values()) - len(pods) + len(waiting)
        for pod in waiting[: max(0, allowed)]:
            self._world.change(POD, key_of(pod), _open)


def _replaces(workload: Object) -> str:
    name: str = (workload["metadata"].get("annotations") or {}).get(REPLACES, "")
    return name


def _counts(sets: Sets) -> dict[str, int]:
    return {row["name"]: row["count"] for row in sets}


def _gated(pod: Object) -> bool:
    return any(row["name"] == ELASTIC for row in pod["spec"].get("schedulingGates") or ())


def _open(pod: Object) -> None:
    left = [row for row in pod["spec"]["schedulingGates"] if row["name"] != ELASTIC]
    pod["spec"]["schedulingGates"] = left
    if not left:
        del pod["spec"]["schedulingGates"]
