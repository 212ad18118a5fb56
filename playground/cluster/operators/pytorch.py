"""The training-operator: PyTorchJobs, elastic ones too."""

from collections.abc import Iterable, Iterator
from typing import Any

from playground.cluster.control.job_counts import statuses_of
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.deletion import DeleteOptions
from playground.cluster.objects.kinds import POD, PYTORCH_JOB, SERVICE, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of
from playground.cluster.operators.replicas import (
    INDEX,
    JOB_NAME,
    OPERATOR,
    clean,
    create,
    in_phase,
    is_over,
    is_suspended,
    pods_of,
    policy_of,
    restart_policy,
    say,
    write,
)

SOURCE = "pytorchjob-controller"
TYPE = "training.kubeflow.org/replica-type"
CONTAINER = "pytorch"
PORT = 23456
_ROLES = ("Master", "Worker")


class PyTorchJobs:
    """Runs PyTorchJobs of kubeflow.org/v1."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """PyTorchJobs that changed, and those whose pods did."""
        if change.kind == PYTORCH_JOB.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == POD.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == PYTORCH_JOB.kind:
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Brings a PyTorchJob one look further."""
        job = self._world.store.edit(PYTORCH_JOB, *key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            self._world.loop.wake(self, key, None)
            return
        status = job.setdefault("status", {})
        if not status.get("conditions"):
            self._tell(job, "Created", f"PyTorchJob {key[1]} is created.")
        if is_over(job):
            clean(self._world, job, policy_of(job).get("cleanPodPolicy", "None"))
            self._expire(key, job)
        elif is_suspended(job):
            self._rest(job)
        else:
            self._run(key, job)
        write(self._world, PYTORCH_JOB, job, lambda _obj: None)

    def _rest(self, job: Object) -> None:
        clean(self._world, job, "All")
        name = job["metadata"]["name"]
        job["status"].pop("startTime", None)
        job["status"]["replicaStatuses"] = {}
        self._tell(job, "Suspended", f"PyTorchJob {name} is suspended.")
        if condition(job, "Running"):
            why = ("PyTorchJobSuspended", f"PyTorchJob {name} is suspended.")
            say(self._world, job, "Running", why, status=False)

    def _run(self, key: Key, job: Object) -> None:
        row = condition(job, "Suspended")
        if row is not None and row["status"] == "True":
            why = ("PyTorchJobResumed", f"PyTorchJob {key[1]} is resumed.")
            say(self._world, job, "Suspended", why, status=False)
        job["status"].setdefault("startTime", stamp(self._world.now))
        for role, number in _places(job):
            pod = _pod(job, role, number)
            create(self._world, PYTORCH_JOB, job, POD, pod)
            create(self._world, PYTORCH_JOB, job, SERVICE, _service(job, role, number))
        self._scale_down(job)
        limit = policy_of(job).get("activeDeadlineSeconds")
        if limit is not None:
            end = moment_of(job["status"]["startTime"]) + seconds(limit)
            if self._world.now >= end:
                self._end(job, f"Job {key[1]} has failed because it was active longer "
                          "than specified deadline", "Failed")  # fmt: skip
                return
            self._world.loop.wake(self, key, end)
        if _is_past_backoff_limit(job, pods_of(self._world, job)):
            clean(self._world, job, policy_of(job).get("cleanPodPolicy", "None"))
            self._end(job, f"Job {key[1]} has failed because it has reached the specified backoff "
                      "limit", "Failed")  # fmt: skip
            return
        for role in _ROLES:
            self._judge(job, role)

    def _scale_down(self, job: Object) -> None:
        wanted = {_name(job, role, number) for role, number in _places(job)}
        for pod in pods_of(self._world, job):
            if pod["metadata"]["name"] not in wanted:
                self._world.deletion.delete(POD, key_of(pod))

    def _judge(self, job: Object, role: str) -> None:
        spec = job["spec"]["pytorchReplicaSpecs"].get(role)
        if spec is None or is_over(job):
            return
        pods = [
            p for p in pods_of(self._world, job) if p["metadata"]["labels"][TYPE] == role.lower()
        ]
        row = {
            "active": in_phase(pods, "Running"),
            "succeeded": in_phase(pods, "Succeeded"),
            "failed": in_phase(pods, "Failed"),
        }
        kept = {name: value for name, value in row.items() if value}
        job["status"].setdefault("replicaStatuses", {})[role] = kept
        name, place = job["metadata"]["name"], "/".join(key_of(job))
        leads = role == "Master" or "Master" not in job["spec"]["pytorchReplicaSpecs"]
        elastic = bool(job["spec"].get("elasticPolicy")) and row["succeeded"] > 0
        if leads and (row["succeeded"] == spec.get("replicas", 1) or elastic):
            self._end(job, f"PyTorchJob {place} successfully completed.", "Succeeded")
        elif row["failed"]:
            words = f"because {row['failed']} {role} replica(s) failed."
            if (
                restart_policy(spec, "OnFailure") == "Never"
                and spec.get("restartPolicy") != "ExitCode"
            ):
                self._end(job, f"PyTorchJob {name} is failed {words}", "Failed")
            else:
                self._restart(job, pods, f"PyTorchJob {name} is restarting {words}")
        elif leads and row["active"]:
            self._tell(job, "Running", f"PyTorchJob {place} is running.")

    def _restart(self, job: Object, pods: list[Object], words: str) -> None:
        self._tell(job, "Restarting", words, warning=True)
        for pod in pods:
            if pod["status"]["phase"] == "Failed":
                self._world.deletion.delete(POD, key_of(pod))

    def _end(self, job: Object, words: str, kind: str) -> None:
        job["status"].setdefault("completionTime", stamp(self._world.now))
        self._tell(job, kind, words, warning=kind == "Failed")
        self._world.loop.mark(self, key_of(job))

    def _expire(self, key: Key, job: Object) -> None:
        lifetime = policy_of(job).get("ttlSecondsAfterFinished")
        if lifetime is None:
            self._world.loop.wake(self, key, None)
            return
        end = moment_of(job["status"]["completionTime"]) + seconds(lifetime)
        if self._world.now < end:
            self._world.loop.wake(self, key, end)
        else:
            self._world.deletion.delete(PYTORCH_JOB, key, DeleteOptions("Background"))

    def _tell(self, job: Object, kind: str, words: str, *, warning: bool = False) -> None:
        why = (f"PyTorchJob{kind}", words)
        if say(self._world, job, kind, why):
            self._world.record(PYTORCH_JOB, job, why, SOURCE, warning=warning)


def _is_past_backoff_limit(job: Object, pods: list[Object]) -> bool:
    """Whether containers of running pods were started again too often."""
    limit = policy_of(job).get("backoffLimit")
    if limit is None:
        return False
    restarts = sum(
        row["restartCount"]
        for pod in pods
        if pod["status"].get("phase") == "Running"
        for row in statuses_of(pod)
    )
    return bool(restarts > 0 if limit == 0 else restarts >= limit)


def _places(job: Object) -> Iterator[tuple[str, int]]:
    for role in _ROLES:
        spec = job["spec"]["pytorchReplicaSpecs"].get(role)
        for number in range(spec.get("replicas", 1) if spec else 0):
            yield role, number


def _name(job: Object, role: str, number: int) -> str:
    return f"{job['metadata']['name']}-{role.lower()}-{number}"


def _labels(job: Object, role: str, number: int) -> dict[str, str]:
    return {
        OPERATOR: SOURCE,
        JOB_NAME: job["metadata"]["name"],
        TYPE: role.lower(),
        INDEX: str(number),
    }


def _service(job: Object, role: str, number: int) -> Object:
    labels = _labels(job, role, number)
    ports = [{"name": "pytorchjob-port", "port": PORT}]
    spec = {"clusterIP": "None", "selector": labels, "ports": ports}
    return {"metadata": {"name": _name(job, role, number), "labels": labels}, "spec": spec}


def _pod(job: Object, role: str, number: int) -> Object:
    replica = job["spec"]["pytorchReplicaSpecs"][role]
    template = replica["template"]
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **_labels(job, role, number)}
    env = [{"name": name, "value": value} for name, value in _env(job, role, number)]
    containers = [
        {**container, "env": [*(container.get("env") or ()), *env]}
        for container in template["spec"]["containers"]
    ]
    spec = {
        **template["spec"],
        "containers": containers,
        "restartPolicy": restart_policy(replica, "OnFailure"),
    }
    return {"metadata": {**metadata, "name": _name(job, role, number)}, "spec": spec}


def _env(job: Object, role: str, number: int) -> Iterator[tuple[str, str]]:
    specs, name = job["spec"]["pytorchReplicaSpecs"], job["metadata"]["name"]
    total = sum(spec.get("replicas", 1) for spec in specs.values())
    policy: dict[str, Any] | None = job["spec"].get("elasticPolicy")
    yield "PYTHONUNBUFFERED", "1"
    if "Master" in specs:
        master = role == "Master"
        yield "MASTER_PORT", str(PORT)
        yield "MASTER_ADDR", "localhost" if master else f"{name}-master-0"
        yield "WORLD_SIZE", str(total)
        yield "RANK", str(number if master else number + 1)
    if policy is None:
        yield "PET_NNODES", str(total)
        return
    host = policy.get("rdzvHost", f"{name}-worker-0")
    yield "PET_RDZV_ENDPOINT", f"{host}:{policy.get('rdzvPort', PORT)}"
    yield "PET_RDZV_BACKEND", policy.get("rdzvBackend", "c10d")
    yield "PET_NNODES", f"{policy.get('minReplicas', total)}:{policy.get('maxReplicas', total)}"
    if policy.get("maxRestarts") is not None:
        yield "PET_MAX_RESTARTS", str(policy["maxRestarts"])
