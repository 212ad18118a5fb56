"""Each sort of root says alike how it stands."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bot.cluster.answers import decode
from bot.cluster.resources import JOBS, MPIJOBS, PYTORCHJOBS, ROOTS, TRAINJOBS, Resource
from bot.training.kinds.fate import Progress, WorkloadStatus, root_of
from tests.bot.training.objects import condition, later, stamp, stamped

ENDED = stamped(minutes=5)
FAILED = condition("Failed", "BackoffLimitExceeded", "It tried too often")
BROKEN = WorkloadStatus(
    Progress.FAILED, "BackoffLimitExceeded", "It tried too often", ended_at=ENDED
)


def fate(resource: Resource[Any], spec: dict[str, Any], status: dict[str, Any]) -> WorkloadStatus:
    body = msgspec.json.encode({"spec": spec, "status": status})
    return root_of(resource, decode(body, resource.type, "Reading")).fate


@pytest.mark.parametrize(
    ("resource", "status", "expected"),
    [
        (JOBS, {"ready": 1}, WorkloadStatus(is_running=True)),
        (JOBS, {"active": 2}, WorkloadStatus()),
        (
            JOBS,
            {"conditions": [condition("SuccessCriteriaMet")]},
            WorkloadStatus(Progress.FINISHING),
        ),
        (JOBS, {"conditions": [condition("FailureTarget")]}, WorkloadStatus(Progress.FINISHING)),
        (JOBS, {"conditions": [FAILED], "failed": 3}, replace(BROKEN, failed_pods=3)),
        (
            JOBS,
            {"conditions": [condition("Complete")], "completionTime": stamp(later(minutes=4))},
            WorkloadStatus(Progress.SUCCEEDED, ended_at=stamped(minutes=4)),
        ),
        (MPIJOBS, {"conditions": [condition("Running")]}, WorkloadStatus(is_running=True)),
        (MPIJOBS, {"conditions": [condition("Running", status="False")]}, WorkloadStatus()),
        (
            MPIJOBS,
            {"conditions": [FAILED], "replicaStatuses": {"Launcher": {"failed": 2}, "Worker": {}}},
            replace(BROKEN, failed_pods=2),
        ),
        (
            PYTORCHJOBS,
            {
                "conditions": [condition("Running", status="False"), condition("Succeeded")],
                "startTime": stamp(later(minutes=1)),
            },
            WorkloadStatus(Progress.SUCCEEDED, ended_at=ENDED, started_at=stamped(minutes=1)),
        ),
        (
            TRAINJOBS,
            {"jobsStatus": [{"name": "node", "ready": 1}]},
            WorkloadStatus(is_running=True),
        ),
        (TRAINJOBS, {"conditions": [condition("Suspended", status="False")]}, WorkloadStatus()),
        (
            TRAINJOBS,
            {"conditions": [condition("Complete")]},
            WorkloadStatus(Progress.SUCCEEDED, ended_at=ENDED),
        ),
    ],
)
def test_a_root_says_how_it_stands(
    resource: Resource[Any], status: dict[str, Any], expected: WorkloadStatus
) -> None:
    assert fate(resource, {}, status) == expected


@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        (JOBS, {"suspend": True, "activeDeadlineSeconds": 60}),
        (MPIJOBS, {"runPolicy": {"suspend": True, "activeDeadlineSeconds": 60}}),
        (PYTORCHJOBS, {"runPolicy": {"suspend": True, "activeDeadlineSeconds": 60}}),
        (TRAINJOBS, {"suspend": True, "activeDeadlineSeconds": 60}),
    ],
)
def test_a_root_says_what_it_was_told(resource: Resource[Any], spec: dict[str, Any]) -> None:
    assert fate(resource, spec, {}) == WorkloadStatus(is_suspended=True, time_limit_seconds=60)


def test_every_root_has_a_fate() -> None:
    assert [fate(resource, {}, {}) for resource in ROOTS] == [WorkloadStatus()] * len(ROOTS)
