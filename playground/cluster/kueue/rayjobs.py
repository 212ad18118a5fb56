"""Kueue and RayJobs: the head, each group of workers and the submitter are pod sets."""

from playground.cluster.kueue.frameworks import Framework, Template
from playground.cluster.objects.kinds import RAY_JOB, Object


def _suspend(job: Object, suspended: bool) -> None:  # noqa: FBT001 -- the field's own value
    job["spec"]["suspend"] = suspended


def _groups(job: Object) -> list[Object]:
    groups: list[Object] = job["spec"]["rayClusterSpec"].get("workerGroupSpecs") or []
    return groups


def _counted(job: Object) -> list[tuple[str, int]]:
    workers = [(row["groupName"], row.get("replicas", 1)) for row in _groups(job)]
    return [("head", 1), *workers, ("submitter", 1)]


def _templates(job: Object) -> list[Template]:
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
    workers = [row["template"] for row in _groups(job)]
    return [head, *workers, job["spec"]["submitterPodTemplate"]]


def _state(job: Object) -> str:
    return str((job.get("status") or {}).get("jobDeploymentStatus", ""))


def _ended(job: Object) -> tuple[bool, str] | None:
    if _state(job) not in {"Complete", "Failed"}:
        return None
    status = job["status"]
    return status.get("jobStatus") == "SUCCEEDED", status.get("message", "")


def _ready(job: Object, _count: int) -> bool:
    return bool((job["status"].get("rayClusterStatus") or {}).get("state") == "ready")


RAY = Framework(
    RAY_JOB,
    "ray.io/rayjob-kueue-controller",
    lambda job: bool(job["spec"].get("suspend")),
    _suspend,
    _counted,
    _templates,
    _ended,
    lambda job: _state(job) not in {"", "Suspended"},
    _ready,
)
