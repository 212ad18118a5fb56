"""What the API server fills in in Jobs."""

from playground.cluster.objects.kinds import Object
from playground.cluster.objects.pods import default_pod_spec

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
_UNLIMITED = 2_147_483_647


def default_job(job: Object) -> None:
    """Fills in what every new Job has; its uid must be set."""
    spec = job.setdefault("spec", {})
    spec.setdefault("completionMode", "NonIndexed")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    by_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", _UNLIMITED if by_index else 6)
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    policy = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", policy)
    template = spec.setdefault("template", {})
    default_pod_spec(template.setdefault("spec", {}))
    metadata = job["metadata"]
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    labels |= {
        CONTROLLER_UID: metadata["uid"],
        JOB_NAME: metadata["name"],
        "controller-uid": metadata["uid"],
        "job-name": metadata["name"],
    }
    spec["selector"] = {"matchLabels": {CONTROLLER_UID: metadata["uid"]}}
    job["status"] = {}


def finished(job: Object) -> str | None:
    """The terminal condition of a Job, "Complete" or "Failed", or None."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
            kind: str = condition["type"]
            return kind
    return None
