"""What is said about Workloads: admitted, waiting, evicted, requeued, finished."""

from datetime import datetime
from typing import Any

from playground.cluster.control.loop import moment_of
from playground.cluster.kueue.workloads import is_reserved
from playground.cluster.objects.conditions import condition, is_true, set_condition
from playground.cluster.objects.kinds import Object

EVICTION_WORDS = {
    "Deactivated": "The workload is deactivated",
    "ClusterQueueStopped": "The ClusterQueue is stopped",
    "LocalQueueStopped": "The LocalQueue is stopped",
}
_NO_RESERVATION = ("NoReservation", "The workload has no reservation")


def say(
    workload: Object, kind: str, now: datetime, why: tuple[str, str], *, status: bool = True
) -> None:
    """Sets a condition with the generation it was seen at."""
    set_condition(workload, kind, status=status, why=why, now=now)
    row = condition(workload, kind) or {}
    row["observedGeneration"] = workload["metadata"].get("generation", 1)


def admit(workload: Object, admission: dict[str, Any], now: datetime) -> None:
    """Gives a Workload its quota."""
    queue = admission["clusterQueue"]
    workload["status"]["admission"] = admission
    say(
        workload, "QuotaReserved", now, ("QuotaReserved", f"Quota reserved in ClusterQueue {queue}")
    )
    say(workload, "Admitted", now, ("Admitted", "The workload is admitted"))
    for kind, why in (
        ("Evicted", ("QuotaReserved", f"Previously: {_previous(workload, 'Evicted')}")),
        ("Preempted", ("QuotaReserved", f"Previously: {_previous(workload, 'Preempted')}")),
    ):
        if is_true(workload, kind):
            say(workload, kind, now, why, status=False)
    if condition(workload, "Requeued"):
        _remove(workload, "Requeued")


def wait(workload: Object, why: tuple[str, str], now: datetime) -> None:
    """Says why a Workload has no quota, and takes what it had."""
    workload["status"].pop("admission", None)
    say(workload, "QuotaReserved", now, why, status=False)
    admitted = condition(workload, "Admitted")
    if admitted is None:
        return
    if admitted["status"] == "True":
        ran = int((now - moment_of(admitted["lastTransitionTime"])).total_seconds())
        status = workload["status"]
        total = status.get("accumulatedPastExecutionTimeSeconds", 0) + ran
        status["accumulatedPastExecutionTimeSeconds"] = total
    say(workload, "Admitted", now, _NO_RESERVATION, status=False)


def evict(workload: Object, reason: str, message: str, now: datetime, cause: str = "") -> None:
    """Tells a Workload to give its quota back; it keeps it until its pods are gone."""
    say(workload, "Evicted", now, (reason, message))
    stats = workload["status"].setdefault("schedulingStats", {}).setdefault("evictions", [])
    row = next((r for r in stats if (r["reason"], r["underlyingCause"]) == (reason, cause)), None)
    if row is None:
        row = {"reason": reason, "underlyingCause": cause, "count": 0}
        stats.append(row)
    row["count"] += 1


def give_back(workload: Object, reason: str, now: datetime) -> None:
    """Takes the quota of an evicted Workload; only a preempted one goes back to its queue."""
    evicted = condition(workload, "Evicted") or {"reason": "Pending", "message": ""}
    cause, message = evicted["reason"], evicted["message"]
    if is_reserved(workload):
        wait(workload, (reason, message), now)
    say(workload, "Requeued", now, (cause, message), status=cause == "Preempted")
    if condition(workload, "PodsReady"):
        pods = ("WaitForStart", "Not all pods are ready or succeeded")
        say(workload, "PodsReady", now, pods, status=False)


def _previous(workload: Object, kind: str) -> str:
    message: str = (condition(workload, kind) or {}).get("message", "")
    return message


def _remove(workload: Object, kind: str) -> None:
    rows = workload["status"]["conditions"]
    workload["status"]["conditions"] = [row for row in rows if row["type"] != kind]
