"""Workloads that were sent away for a while: when they must have started, and when they return."""

from datetime import datetime

from playground.cluster.control.loop import moment_of
from playground.cluster.kueue.configuration import PodsReady
from playground.cluster.kueue.transitions import evict, say
from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.operations import stamp

REACTIVATED = ("Reactivated", "The workload was reactivated")
RETURN_WORDS = {
    "ClusterQueueStopped": (
        "ClusterQueueRestarted",
        "The ClusterQueue was restarted after being stopped",
    ),
    "LocalQueueStopped": (
        "LocalQueueRestarted",
        "The LocalQueue was restarted after being stopped",
    ),
    "PodsReadyTimeout": ("BackoffFinished", "The workload backoff was finished"),
}
_TOO_OFTEN = ("RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries")


def latest_start(workload: Object, rule: PodsReady) -> datetime | None:
    """When an admitted Workload must have all its pods ready; None when it has."""
    admitted, ready = condition(workload, "Admitted"), condition(workload, "PodsReady")
    if not is_true(workload, "Admitted") or admitted is None or is_true(workload, "PodsReady"):
        return None
    since = moment_of(admitted["lastTransitionTime"])
    if ready is not None and ready["reason"] == "WaitForRecovery":
        since = moment_of(ready["lastTransitionTime"])
    return since + rule.timeout


def give_up_start(workload: Object, rule: PodsReady, message: str, now: datetime) -> None:
    """Evicts a Workload that did not start, with the time of its next try; too often ends it."""
    state = workload["status"].setdefault("requeueState", {})
    count = state.get("count", 0) + 1
    if rule.backoff_limit is not None and count > rule.backoff_limit:
        say(workload, "DeactivationTarget", now, _TOO_OFTEN)
        workload["spec"]["active"] = False
        return
    pause = min(rule.backoff_base * 2 ** (count - 1), rule.backoff_max)
    state |= {"count": count, "requeueAt": stamp(now + pause)}
    ready = condition(workload, "PodsReady") or {"reason": "WaitForStart"}
    evict(workload, "PodsReadyTimeout", message, now, ready["reason"])


def end_of_backoff(workload: Object) -> datetime | None:
    """Until when a Workload stays away after it did not start."""
    moment = workload["status"].get("requeueState", {}).get("requeueAt")
    return moment_of(moment) if moment else None


def come_back(workload: Object, why: tuple[str, str], now: datetime) -> None:
    """Puts a Workload in line again."""
    workload["status"].get("requeueState", {}).pop("requeueAt", None)
    say(workload, "Requeued", now, why)
