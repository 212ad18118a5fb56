"""Each type of root object says in the same way what has become of it."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.training.kinds import ROOTS
from bot.training.kinds.job import JOB
from bot.training.kinds.kind import RootType
from bot.training.kinds.mpi import MPI_JOB
from bot.training.kinds.pytorchjob import PYTORCH_JOB
from bot.training.kinds.status import Progress, WorkloadStatus
from bot.training.kinds.trainjob import TRAIN_JOB
from tests.bot.training.objects import condition, later, stamp, stamped

ENDED = stamped(minutes=5)
FAILED = condition("Failed", "BackoffLimitExceeded", "It tried too often")
BROKEN = WorkloadStatus(
    Progress.FAILED, "BackoffLimitExceeded", "It tried too often", is_bare=True, ended_at=ENDED
)


def status_of(root: RootType, spec: dict[str, Any], status: dict[str, Any]) -> WorkloadStatus:
    body = msgspec.json.encode({"spec": spec, "status": status})
    return root.status(decode(body, root.resource.type, "Reading"))


@pytest.mark.parametrize(
    ("root", "status", "expected"),
    [
        (JOB, {"ready": 1}, WorkloadStatus(is_running=True)),
        (JOB, {"active": 2}, WorkloadStatus()),
        (
            JOB,
            {"conditions": [condition("SuccessCriteriaMet")]},
            WorkloadStatus(Progress.FINISHING),
        ),
        (JOB, {"conditions": [condition("FailureTarget")]}, WorkloadStatus(Progress.FINISHING)),
        (JOB, {"conditions": [FAILED], "failed": 3}, replace(BROKEN, failed_pods=3)),
        (
            JOB,
            {"conditions": [condition("Complete")], "completionTime": stamp(later(minutes=4))},
            WorkloadStatus(Progress.SUCCEEDED, ended_at=stamped(minutes=4)),
        ),
        (MPI_JOB, {"conditions": [condition("Running")]}, WorkloadStatus(is_running=True)),
        (MPI_JOB, {"conditions": [condition("Running", status="False")]}, WorkloadStatus()),
        (
            MPI_JOB,
            {"conditions": [FAILED], "replicaStatuses": {"Launcher": {"failed": 2}, "Worker": {}}},
            replace(BROKEN, failed_pods=2),
        ),
        (
            PYTORCH_JOB,
            {
                "conditions": [condition("Running", status="False"), condition("Succeeded")],
                "startTime": stamp(later(minutes=1)),
            },
            WorkloadStatus(Progress.SUCCEEDED, ended_at=ENDED, started_at=stamped(minutes=1)),
        ),
        (
            TRAIN_JOB,
            {"jobsStatus": [{"name": "node", "ready": 1}]},
            WorkloadStatus(is_running=True),
        ),
        (TRAIN_JOB, {"conditions": [condition("Suspended", status="False")]}, WorkloadStatus()),
        (
            TRAIN_JOB,
            {"conditions": [condition("Complete")]},
            WorkloadStatus(Progress.SUCCEEDED, ended_at=ENDED),
        ),
    ],
)
def test_a_root_says_how_it_stands(
    root: RootType, status: dict[str, Any], expected: WorkloadStatus
) -> None:
    assert status_of(root, {}, status) == expected


@pytest.mark.parametrize(
    ("root", "spec"),
    [
        (JOB, {"suspend": True, "activeDeadlineSeconds": 60}),
        (MPI_JOB, {"runPolicy": {"suspend": True, "activeDeadlineSeconds": 60}}),
        (PYTORCH_JOB, {"runPolicy": {"suspend": True, "activeDeadlineSeconds": 60}}),
        (TRAIN_JOB, {"suspend": True, "activeDeadlineSeconds": 60}),
    ],
)
def test_a_root_says_what_it_was_told(root: RootType, spec: dict[str, Any]) -> None:
    assert status_of(root, spec, {}) == WorkloadStatus(is_suspended=True, time_limit_seconds=60)


def test_every_root_has_a_status() -> None:
    assert [status_of(root, {}, {}) for root in ROOTS] == [WorkloadStatus()] * len(ROOTS)
