"""What in a cluster has begun and is not done yet, so that a story's time must not leap over it."""

from collections.abc import Iterator, Mapping, Sequence

from tests.cluster.api import Object
from tests.cluster.site import JOBS, WORKLOADS

_ENDED = frozenset({"Succeeded", "Failed"})
_WAITING_FOR_GOOD = frozenset({"ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff"})
_SCHEDULER = "default-scheduler"


def moving(found: Mapping[str, Sequence[Object]]) -> list[str]:
    """Each thing that controllers are still busy with, in words; `found` are objects by resource.

    What waits for something else than a controller (GPUs, an image, a test) is at rest.
    """
    return [
        *(f"pod {_name(pod)} {why}" for pod in found["pods"] for why in _pod(pod)),
        *(f"Job {_name(job)} {why}" for job in found[JOBS] for why in _job(job)),
        *(f"Workload {_name(each)} {why}" for each in found[WORKLOADS] for why in _workload(each)),
    ]


def _pod(pod: Object) -> Iterator[str]:
    status, spec = pod["status"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        yield "is being deleted"
    elif status.get("phase", "Pending") == "Pending" and spec.get("schedulerName") == _SCHEDULER:
        if "nodeName" in spec and not _waits_for_good(status):
            yield "starts"
        elif "nodeName" not in spec and not status.get("conditions"):
            yield "has not been looked at by the scheduler"


def _waits_for_good(status: Object) -> bool:
    states = [each.get("state", {}) for each in status.get("containerStatuses", ())]
    reasons = {state.get("waiting", {}).get("reason") for state in states}
    return bool(reasons & _WAITING_FOR_GOOD)


def _job(job: Object) -> Iterator[str]:
    spec, status = job["spec"], job.get("status", {})
    active = status.get("active", 0)
    if "deletionTimestamp" in job["metadata"]:
        yield "is being deleted"
    elif spec.get("suspend"):
        if active:
            yield "gives up its pods"
    elif not (_true(job, "Complete") or _true(job, "Failed") or status.get("failedIndexes")):
        left = spec.get("completions", spec["parallelism"]) - status.get("succeeded", 0)
        if active != min(spec["parallelism"], left):
            yield f"has {active} active pods"


def _workload(workload: Object) -> Iterator[str]:
    is_active = workload["spec"].get("active", True)
    if _true(workload, "Finished") or not is_active:
        return
    if _true(workload, "QuotaReserved") and not _true(workload, "Admitted"):
        yield "has quota and is not admitted yet"
    elif not workload.get("status", {}).get("conditions"):
        yield "has not been looked at by Kueue"


def _name(each: Object) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['name']}"


def _true(each: Object, kind: str) -> bool:
    conditions = each.get("status", {}).get("conditions", ())
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)
