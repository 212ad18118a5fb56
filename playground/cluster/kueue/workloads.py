"""Workloads: what they ask for, what they hold, and how they are read and written."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from hashlib import sha1
from typing import Any, Generic, TypeVar

import orjson

from playground.cluster.control.job_pods import owner_reference
from playground.cluster.control.loop import moment_of
from playground.cluster.control.scheduler import pod_requests
from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.quantities import parse_quantity, show_quantity

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
FINALIZER = "kueue.x-k8s.io/resource-in-use"
Requests = dict[str, Decimal]
Usage = dict[tuple[str, str], Decimal]
_NAME_LIMIT = 63
_REMEMBERED = 20_000
T = TypeVar("T")


def workload_name(job: Object) -> str:
    """The name of the Workload of a job."""
    metadata, kind = job["metadata"], job["kind"]
    group = job["apiVersion"].rpartition("/")[0]
    text = f"{kind}\n{group}\n{metadata['name']}\n{metadata['uid']}"
    tail = sha1(text.encode(), usedforsecurity=False).hexdigest()[:5]
    stem = f"{kind.lower()}-{metadata['name']}"[: _NAME_LIMIT - len(tail) - 1]
    return f"{stem}-{tail}"


def new_workload(
    job: Object,
    pod_sets: list[dict[str, Any]],
    priority: int,
    reference: dict[str, str] | None,
) -> Object:
    """The Workload for a job with these pod sets."""
    metadata = job["metadata"]
    labels = metadata.get("labels") or {}
    wanted: dict[str, Any] = {
        "active": True,
        "queueName": labels.get(QUEUE_LABEL, ""),
        "priority": priority,
        "podSets": pod_sets,
    }
    if reference:
        wanted["priorityClassRef"] = reference
    if labels.get(TIME_LABEL, "").isdigit():
        wanted["maximumExecutionTimeSeconds"] = int(labels[TIME_LABEL])
    return {
        "metadata": {
            "name": workload_name(job),
            "labels": {JOB_UID_LABEL: metadata["uid"]},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner_reference(job)],
        },
        "spec": wanted,
    }


class Remembered(Generic[T]):
    """What was computed about a Workload; kept objects are never changed in place."""

    def __init__(self, compute: Callable[[Object], T]) -> None:
        self._compute = compute
        self._known: dict[str, tuple[Object, T]] = {}

    def __call__(self, workload: Object) -> T:
        """The computed value, to be read only."""
        uid = workload["metadata"].get("uid", "")
        known = self._known.get(uid)
        if known is not None and known[0] is workload:
            return known[1]
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        computed = self._compute(workload)
        self._known[uid] = (workload, computed)
        return computed


def _requests(workload: Object) -> dict[str, Requests]:
    return {
        pods["name"]: {
            name: amount * pods["count"]
            for name, amount in pod_requests(pods["template"]["spec"]).items()
            if amount
        }
        for pods in workload["spec"]["podSets"]
    }


def _held(workload: Object) -> Usage:
    usage: Usage = defaultdict(Decimal)
    admission = workload.get("status", {}).get("admission") or {}
    for row in admission.get("podSetAssignments") or ():
        flavors = row.get("flavors") or {}
        for resource, value in (row.get("resourceUsage") or {}).items():
            if resource in flavors:
                usage[flavors[resource], resource] += parse_quantity(value)
    return dict(usage)


def _shape(workload: Object) -> bytes:
    sets = [
        (
            pods["count"],
            [c.get("resources") for c in pods["template"]["spec"]["containers"]],
            pods["template"]["spec"].get("nodeSelector"),
            pods["template"]["spec"].get("tolerations"),
        )
        for pods in workload["spec"]["podSets"]
    ]
    return orjson.dumps([priority_of(workload), sets, workload["metadata"].get("annotations")])


# What each pod set asks for in all, by resource; nothing is left out but zeros.
requests = Remembered(_requests)
# What an admitted Workload holds, by flavor and resource.
held = Remembered(_held)
# What decides how a Workload is placed: two of the same shape fit or wait alike.
shape = Remembered(_shape)


def admission_inputs(workload: Object) -> tuple[object, ...]:
    """What of a Workload matters to the queues."""
    return (
        workload["spec"],
        workload["metadata"].get("deletionTimestamp"),
        [is_true(workload, kind) for kind in ("QuotaReserved", "Admitted", "Finished", "Evicted")],
        may_be_admitted(workload),
    )


def admission(queue: str, workload: Object, flavors: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The admission of a Workload with the flavors chosen for each pod set."""
    asked = requests(workload)
    return {
        "clusterQueue": queue,
        "podSetAssignments": [
            {
                "name": pods["name"],
                "count": pods["count"],
                "flavors": flavors[pods["name"]],
                "resourceUsage": {
                    name: show_quantity(amount, name)
                    for name, amount in asked[pods["name"]].items()
                },
            }
            for pods in workload["spec"]["podSets"]
        ],
    }


def is_reserved(workload: Object) -> bool:
    """Whether it holds quota."""
    return is_true(workload, "QuotaReserved")


def is_finished(workload: Object) -> bool:
    """Whether its Job has ended."""
    return is_true(workload, "Finished")


def is_evicted(workload: Object) -> bool:
    """Whether it was told to give its quota back."""
    return is_true(workload, "Evicted")


def is_pending(workload: Object) -> bool:
    """Whether it stands in a queue."""
    return not (
        is_reserved(workload)
        or is_finished(workload)
        or not workload["spec"].get("active", True)
        or workload["metadata"].get("deletionTimestamp")
    )


def may_be_admitted(workload: Object) -> bool:
    """Whether it is not kept away after an eviction, for a while or until somebody acts."""
    row = condition(workload, "Requeued")
    return row is None or row["status"] == "True"


def priority_of(workload: Object) -> int:
    """Its priority; 0 if none is set."""
    return workload["spec"].get("priority") or 0


def queued_since(workload: Object) -> datetime:
    """Since when it stands in line; an eviction for lack of ready pods sends it to the end."""
    row = condition(workload, "Evicted")
    if row and row["status"] == "True" and row["reason"] == "PodsReadyTimeout":
        return moment_of(row["lastTransitionTime"])
    return moment_of(workload["metadata"]["creationTimestamp"])


def order(workload: Object) -> tuple[int, datetime, str, str]:
    """Its place in the queue: by priority, then by time, then by name."""
    metadata = workload["metadata"]
    place = (metadata["namespace"], metadata["name"])
    return (-priority_of(workload), queued_since(workload), *place)
