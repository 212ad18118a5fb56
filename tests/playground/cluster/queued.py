from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, Object, Served, conditions


def submit(served: Served, name: str, gpus: int, team: str = "team-a", **spec: Any) -> None:
    served.cluster.behaviours.setdefault("long", Training(never_ends=True))
    job = training_job(name, gpus, team, image="ghcr.io/acme/long:1", **spec)
    served.post(JOBS.replace("team-a", team), job)


def submit_with_priority(
    served: Served, name: str, gpus: int, priority: str, team: str = "team-a"
) -> None:
    served.cluster.behaviours.setdefault("long", Training(never_ends=True))
    job = training_job(name, gpus, team, image="ghcr.io/acme/long:1")
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    served.post(JOBS.replace("team-a", team), job)


def gpus_of(served: Served, team: str, part: str = "flavorsReservation") -> tuple[str, str]:
    queue = served.cluster.get("clusterqueues", team)
    assert queue is not None
    rows = queue["status"][part][0]["resources"]
    row = next(row for row in rows if row["name"] == "nvidia.com/gpu")
    return row["total"], row["borrowed"]


def queue_status(served: Served, team: str = "team-a") -> Object:
    queue = served.cluster.get("clusterqueues", team)
    assert queue is not None
    status: Object = queue["status"]
    return status


def reserved(served: Served, job: str, team: str = "team-a") -> tuple[str, str, str]:
    return conditions(served.workload(job, team))["QuotaReserved"]


def is_suspended(served: Served, job: str, team: str = "team-a") -> bool:
    suspended: bool = served.job(job, team)["spec"]["suspend"]
    return suspended
