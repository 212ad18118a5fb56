"""Objects of a cluster as a test needs them, from as few words as possible."""

from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from bot.cluster.api.answers import decode
from bot.cluster.types.objects import Job, Pod
from bot.cluster.types.queues import Workload
from bot.quotas.engines.admission import AdmissionState
from bot.quotas.engines.kueue.runs import standing_of
from bot.training.kinds.job import JOB
from bot.training.kinds.status import Root
from bot.training.tables import Run
from tests.bot.ground import ALICE, INSTALLATION, START, TEAM_A
from tests.bot.training.rig import IMAGE
from tests.moments import in_whole_seconds

RUN_ID = "01a1fcc34db673f4a416eb124a67dc90"
UID = "uid-1"
T = TypeVar("T")


def later(**length: float) -> datetime:
    return START + timedelta(**length)


def stamped(**length: float) -> datetime:
    """The same moment as an object of the cluster has it."""
    return in_whole_seconds(later(**length))


def run(**more: Any) -> Run:
    """A run that was asked for at START."""
    fields: dict[str, Any] = {
        "id": RUN_ID,
        "workspace_id": "T0QM",
        "team": "team-a",
        "name": "lane",
        "number": 1,
        "person": ALICE,
        "channel": TEAM_A,
        "cluster": "default",
        "namespace": "team-a",
        "queue": "team-a",
        "job_name": "lane-124a67dc90",
        "spec": {"image": IMAGE, "cpu": "16", "memory": "128Gi", "gpus": 2, "shm": "16Gi"},
        "asked_at": START,
        "since": START,
    }
    return Run(**(fields | more))


def root(*conditions: dict[str, Any], suspend: bool = False, **more: Any) -> Root:
    """The run's Job with these conditions true, as its root."""
    status = {"conditions": list(conditions), **more.pop("status", {})}
    labels = {"quartermaster.dev/run": RUN_ID, "quartermaster.dev/installation": INSTALLATION}
    metadata = {"name": "lane-124a67dc90", "namespace": "team-a", "uid": UID, "labels": labels}
    metadata |= more.pop("metadata", {})
    spec = {"suspend": suspend, **more}
    return JOB.read(_as(Job, {"metadata": metadata, "spec": spec, "status": status}))


def workload(
    *conditions: dict[str, Any], active: bool = True, checks: tuple[dict[str, Any], ...] = ()
) -> Workload:
    """The Job's Workload."""
    owner = {"kind": "Job", "name": "lane-124a67dc90", "uid": UID, "controller": True}
    return _as(
        Workload,
        {
            "metadata": {"name": "job-lane", "namespace": "team-a", "ownerReferences": [owner]},
            "spec": {"queueName": "team-a", "active": active},
            "status": {"conditions": list(conditions), "admissionChecks": list(checks)},
        },
    )


def admission(*conditions: dict[str, Any], active: bool = True) -> AdmissionState:
    """How the Job stands by its Workload."""
    return standing_of(workload(*conditions, active=active))


def pod(phase: str = "Running", name: str = "lane-1", **more: Any) -> Pod:
    """A pod with one container in this state; `waiting` and `exit_code` say more of it."""
    state: dict[str, Any] = {}
    if phase == "Running":
        state = {"running": {"startedAt": stamp(START)}}
    if "waiting" in more:
        state = {"waiting": more["waiting"]}
    if "ended" in more:
        state = {"terminated": {"startedAt": stamp(START), **more["ended"]}}
    metadata: dict[str, Any] = {"name": name, "namespace": "team-a", "uid": f"uid-{name}"}
    metadata |= {"creationTimestamp": stamp(START), "labels": more.get("labels", {})}
    if more.get("is_leaving"):
        metadata["deletionTimestamp"] = stamp(later(seconds=30))
    status = {
        "phase": phase,
        "conditions": more.get("conditions", []),
        "containerStatuses": [{"name": "main", "state": state}],
    }
    return _as(Pod, {"metadata": metadata, "status": status})


def condition(
    type_: str, reason: str = "", message: str = "", status: str = "True"
) -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp(later(minutes=5)),
    }


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _as(type_: type[T], body: dict[str, Any]) -> T:
    return decode(msgspec.json.encode(body), type_, "Reading")
