"""Kueue's conditions of every version as one cause."""

from typing import Any

import pytest

from bot.quotas.engines.admission import Blocked, Cause
from bot.quotas.engines.kueue.conditions import blocked
from tests.bot.training.objects import condition, workload


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return condition("QuotaReserved", reason, message, status="False")


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("WaitingForQuota", Cause.QUOTA),
        ("ExceedsMaxQuota", Cause.TOO_BIG),
        ("NoMatchingFlavor", Cause.FLAVOR),
        ("TopologyPlacementFailed", Cause.TOPOLOGY),
        ("WaitingForPreemptedWorkloads", Cause.PREEMPTING),
        ("Misconfigured", Cause.QUEUE),
        ("Suspended", Cause.HOLD),
        ("WaitingForPodsReady", Cause.PODS_READY),
        ("PendingEvaluation", Cause.NOT_LOOKED_AT),
    ],
)
def test_newer_versions_say_it_in_one_word(reason: str, cause: Cause) -> None:
    assert blocked(workload(waiting(reason, "because"))) == Blocked(cause, "because")


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            (
                "couldn't assign flavors to pod set main: insufficient unused quota for"
                " nvidia.com/gpu in flavor h100, 8 more needed"
            ),
            Cause.QUOTA,
        ),
        (
            (
                "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in"
                " flavor h100, previously considered podsets requests (0) + current podset request"
                " (12) > maximum capacity (8)"
            ),
            Cause.TOO_BIG,
        ),
        (
            (
                "couldn't assign flavors to pod set main: resource vpc.amazonaws.com/efa"
                " unavailable in ClusterQueue"
            ),
            Cause.UNCOVERED,
        ),
        (
            (
                "Preempted to accommodate a workload (UID: 1, JobUID: 2) due to reclamation within"
                " the cohort; preemptor path: /gpus/team-b; preemptee path: /gpus/team-a"
            ),
            Cause.NOT_LOOKED_AT,
        ),
        ("LocalQueue team-a doesn't exist", Cause.QUEUE),
        ("ClusterQueue team-a is inactive", Cause.QUEUE),
        ("Pending the preemption of 1 workload(s)", Cause.PREEMPTING),
        (
            (
                "couldn't assign flavors to pod set main: insufficient unused quota for"
                " nvidia.com/gpu in flavor h100, 8 more needed. Pending the preemption of 2"
                " workload(s)"
            ),
            Cause.PREEMPTING,
        ),
        ("Workload no longer fits after processing another workload", Cause.QUOTA),
        ("flavor h100 doesn't match node affinity", Cause.FLAVOR),
        ("waiting for all admitted workloads to be in PodsReady condition", Cause.PODS_READY),
        ("something new", Cause.NOT_LOOKED_AT),
    ],
)
def test_older_versions_say_it_in_a_sentence(message: str, cause: Cause) -> None:
    assert blocked(workload(waiting("Pending", message))) == Blocked(cause, message)


def test_the_rest_is_told_by_other_conditions() -> None:
    reserved = condition("QuotaReserved")
    assert [
        blocked(workload()),
        blocked(workload(active=False)),
        blocked(workload(reserved)),
        blocked(workload(reserved, condition("Admitted"))),
    ] == [Blocked(Cause.NOT_LOOKED_AT), Blocked(Cause.HOLD), Blocked(Cause.CHECKS), None]
