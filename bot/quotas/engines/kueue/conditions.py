"""Why Kueue does not admit a workload: its conditions of every version as one cause."""

import re

from bot.cluster.types.objects import find_condition
from bot.cluster.types.queues import Workload
from bot.quotas.engines.admission import Blocked, Cause

# Kueue 0.19 and later report one reason.
_REASONS = {
    "WaitingForQuota": Cause.QUOTA,
    "ExceedsMaxQuota": Cause.TOO_BIG,
    "NoMatchingFlavor": Cause.FLAVOR,
    "TopologyPlacementFailed": Cause.TOPOLOGY,
    "WaitingForPreemptedWorkloads": Cause.PREEMPTING,
    "Misconfigured": Cause.QUEUE,
    "Suspended": Cause.HOLD,
    "WaitingForPodsReady": Cause.PODS_READY,
    "PendingEvaluation": Cause.NOT_LOOKED_AT,
}
# Before that, or with the gate off, only the message shows it. The first match counts.
_SENTENCES = tuple(
    (re.compile(pattern, re.IGNORECASE), cause)
    for pattern, cause in (
        # The message of a preempted workload, until Kueue evaluates it again.
        (r"^Preempted to accommodate", Cause.NOT_LOOKED_AT),
        (r"pending the preemption|overlapping preemption targets", Cause.PREEMPTING),
        (r"maximum capacity|exceeds.{0,20}max", Cause.TOO_BIG),
        (r"unavailable in ClusterQueue|not covered", Cause.UNCOVERED),
        (
            r"insufficient (?:unused )?quota|borrowing limit|more needed|no longer fits",
            Cause.QUOTA,
        ),
        (r"doesn't exist|not found|is inactive|is stopped|doesn't match namespace", Cause.QUEUE),
        (r"topology", Cause.TOPOLOGY),
        (r"preempt", Cause.PREEMPTING),
        (r"podsready|pods to be ready", Cause.PODS_READY),
        (r"doesn't match|didn't match|untolerated|not allowed|affinity", Cause.FLAVOR),
        (r"inactive|deactivated", Cause.HOLD),
    )
)


def blocked(workload: Workload) -> Blocked | None:
    """Why Kueue does not admit it; None when it has."""
    if not workload.spec.active:
        return Blocked(Cause.HOLD)
    conditions = workload.status.conditions
    admitted = find_condition(conditions, "Admitted")
    if admitted is not None and admitted.true:
        return None
    reserved = find_condition(conditions, "QuotaReserved")
    if reserved is None:
        return Blocked(Cause.NOT_LOOKED_AT)
    if reserved.true:
        said = told_of_checks(workload) or (admitted.message if admitted else "")
        return Blocked(Cause.CHECKS, said)
    cause = _REASONS.get(reserved.reason) or _cause_of(reserved.message)
    return Blocked(cause, " ".join(reserved.message.split()))


def told_of_checks(workload: Workload, *states: str) -> str:
    """The messages of the checks in these states, by default of those not passed yet."""
    checks = workload.status.admission_checks
    open_ = [each for each in checks if each.state in (states or ("Pending", "Retry", "Rejected"))]
    said = (f"AdmissionCheck {each.name} is {each.state}: {each.message}" for each in open_)
    return "; ".join(" ".join(each.split()).rstrip(": .") for each in said)


def _cause_of(message: str) -> Cause:
    found = (cause for pattern, cause in _SENTENCES if pattern.search(message))
    return next(found, Cause.NOT_LOOKED_AT)
