"""What jobs of kubeflow.org have in common: conditions, policies, and pods that are cleaned."""

from collections.abc import Callable, Iterable
from typing import Any

from playground.cluster.control.job_pods import owner_reference
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.errors import ApiError
from playground.cluster.objects.kinds import MPI_JOB, POD, Kind, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import key_of

OPERATOR = "training.kubeflow.org/operator-name"
JOB_NAME = "training.kubeflow.org/job-name"
ROLE = "training.kubeflow.org/job-role"
INDEX = "training.kubeflow.org/replica-index"
_ENDS = {"Failed", "Succeeded"}
Why = tuple[str, str]


def say(world: World, job: Object, kind: str, why: Why, *, status: bool = True) -> bool:
    """Sets a condition as kubeflow does, in place; whether its status or reason is new."""
    rows = job["status"].setdefault("conditions", [])
    before = condition(job, kind)
    word = "True" if status else "False"
    if before is not None and (before["status"], before["reason"]) == (word, why[0]):
        return False
    row = {
        "type": kind,
        "status": word,
        "reason": why[0],
        "message": why[1],
        "lastUpdateTime": stamp(world.now),
        "lastTransitionTime": stamp(world.now),
    }
    if before is not None and before["status"] == word:
        row["lastTransitionTime"] = before["lastTransitionTime"]
    other = {"Running": "Restarting", "Restarting": "Running"}.get(kind)
    kept = [each for each in rows if each["type"] not in {kind, other}]
    for each in kept if kind in _ENDS else ():
        if each["type"] in {"Running", "Failed"}:
            each["status"] = "False"
    job["status"]["conditions"] = [*kept, row]
    return True


def is_over(job: Object) -> bool:
    """Whether a job has ended."""
    rows = (condition(job, kind) for kind in _ENDS)
    return any(row is not None and row["status"] == "True" for row in rows)


def policy_of(job: Object) -> dict[str, Any]:
    """The run policy of a job."""
    policy: dict[str, Any] = job["spec"].get("runPolicy") or {}
    return policy


def is_suspended(job: Object) -> bool:
    """Whether a job is to rest."""
    return bool(policy_of(job).get("suspend"))


def pods_of(world: World, job: Object) -> list[Object]:
    """The pods a job owns itself, by name."""
    owned = world.store.owned_by(job["metadata"]["uid"], POD)
    return sorted((pod for _, pod in owned), key=lambda pod: str(pod["metadata"]["name"]))


def in_phase(pods: Iterable[Object], phase: str) -> int:
    """How many pods are in a phase."""
    return sum(pod["status"].get("phase") == phase for pod in pods)


def clean(world: World, job: Object, policy: str) -> None:
    """Ends the pods of a job: all, or those that run or may yet."""
    for pod in pods_of(world, job):
        runs = pod["status"].get("phase") in {"Pending", "Running"}
        if policy == "All" or (policy == "Running" and runs):
            world.deletion.delete(POD, key_of(pod))


def create(world: World, kind: Kind, job: Object, made: Kind, body: Object) -> Object | None:
    """Creates something that a job owns, where it is not there yet."""
    space, name = job["metadata"]["namespace"], body["metadata"]["name"]
    found = world.store.get(made, space, name)
    if found is not None:
        return found
    body["metadata"]["ownerReferences"] = [owner_reference(job)]
    try:
        return world.operations.create(made, space, body)
    except ApiError as error:
        why = ("FailedCreatePod" if made == POD else "FailedCreate", error.message)
        if kind == MPI_JOB and made == POD:
            why = ("MPIJobFailed", f"worker pod created failed: {error.message}")
        world.record(kind, job, why, "kubeflow", warning=True)
        return None


def restart_policy(spec: dict[str, Any], usual: str) -> str:
    """The restart policy of the pods of a replica spec."""
    policy: str = spec.get("restartPolicy") or usual
    return "Never" if policy == "ExitCode" else policy


def write(world: World, kind: Kind, job: Object, edit: Callable[[Object], None]) -> None:
    """Writes a job's status after a last edit."""
    edit(job)
    current = world.store.edit(kind, *key_of(job))
    if current is not None:
        world.store.put(kind, {**current, "status": job["status"]})
