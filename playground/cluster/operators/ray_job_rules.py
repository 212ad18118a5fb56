"""What KubeRay refuses in RayJobs: it has no webhook, and says so in their status."""

from collections.abc import Iterator

from playground.cluster.objects.kinds import Object
from playground.cluster.objects.names import label_faults

LONGEST_NAME = 47
_METADATA, _SPEC = "The RayJob metadata is invalid: RayJob name", "The RayJob spec is invalid:"


def ray_job_fault(job: Object) -> str:
    """Why KubeRay does not run a RayJob, the first of its reasons; empty where it does."""
    return next(_faults(job), "")


def _faults(job: Object) -> Iterator[str]:
    name, spec = job["metadata"]["name"], job["spec"]
    if len(name) > LONGEST_NAME:
        yield f"{_METADATA} should be no more than {LONGEST_NAME} characters"
    if faults := label_faults(name):
        yield f"{_METADATA} should be a valid DNS1035 label: [{' '.join(faults)}]"
    if spec.get("suspend") and not spec.get("shutdownAfterJobFinishes"):
        words = "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"
        yield f"{_SPEC} {words}"
    if spec.get("rayClusterSpec") is None and not spec.get("clusterSelector"):
        yield f"{_SPEC} one of RayClusterSpec or ClusterSelector must be set"
    if spec.get("activeDeadlineSeconds", 1) <= 0:
        yield f"{_SPEC} activeDeadlineSeconds must be a positive integer"
    if spec.get("backoffLimit", 0) < 0:
        yield f"{_SPEC} backoffLimit must be a positive integer"
