"""What Kueue needs to know of each kind of job that it starts and stops."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.jobs import CONTROLLER_UID, finished
from playground.cluster.objects.kinds import JOB, MPI_JOB, PYTORCH_JOB, Kind, Object

Template = dict[str, Any]
MAIN = "main"


@dataclass(frozen=True)
class Info:
    """What Kueue adds to the pods of one pod set when it starts a job."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    nodes: dict[str, str]
    tolerations: list[Any]
    count: int


@dataclass(frozen=True)
class Framework:
    """One kind of job: how it is suspended, which pods it wants, and how it ended.

    `templates` are the pod templates in the order of the pod sets, to be changed in place; their
    labels that are `managed` are the job's own, and its Workload does not repeat them;
    `ended` is whether it ended well and what it said, or None. Where templates are not part of
    the job, `merge` and `restore` write what its pods get elsewhere.
    """

    kind: Kind
    source: str
    suspended: Callable[[Object], bool]
    suspend: Callable[[Object, bool], None]
    counted: Callable[[Object], list[tuple[str, int]]]
    templates: Callable[[Object], list[Template]]
    ended: Callable[[Object], tuple[bool, str] | None]
    active: Callable[[Object], bool]
    ready: Callable[[Object, int], bool]
    merge: Callable[[Object, Iterable[Info]], None] | None = None
    restore: Callable[[Object], None] | None = None
    managed: tuple[str, ...] = ()

    def pod_sets(self, job: Object) -> list[dict[str, Any]]:
        """The pod sets of a job's Workload."""
        rows = zip(self.counted(job), self.templates(job), strict=True)
        return [
            {
                "name": name,
                "count": count,
                "template": {
                    "metadata": self._plain(template.get("metadata") or {}),
                    "spec": template["spec"],
                },
            }
            for (name, count), template in rows
        ]

    def start(self, job: Object, infos: Iterable[Info]) -> None:
        """Resumes a job in place, with what its pods get from their flavors."""
        if self.merge is not None:
            self.merge(job, infos)
        else:
            for template, info in zip(self.templates(job), infos, strict=True):
                _merge(template, info)
        self.suspend(job, False)  # noqa: FBT003 -- the field's own value

    def stop(self, job: Object, pod_sets: list[dict[str, Any]]) -> None:
        """Suspends a job in place, its templates as they were sent."""
        self.suspend(job, True)  # noqa: FBT003 -- the field's own value
        if self.restore is not None:
            self.restore(job)
            return
        for template, row in zip(self.templates(job), pod_sets, strict=False):
            own = (template.get("metadata") or {}).get("labels") or {}
            kept = {name: own[name] for name in self.managed if name in own}
            template.clear()
            template.update(row["template"])
            if kept:
                sent = template.get("metadata") or {}
                template["metadata"] = {**sent, "labels": {**(sent.get("labels") or {}), **kept}}

    def _plain(self, metadata: dict[str, Any]) -> dict[str, Any]:
        labels = metadata.get("labels")
        if not labels or not self.managed:
            return metadata
        kept = {name: value for name, value in labels.items() if name not in self.managed}
        return {**metadata, "labels": kept}

    def priority_class(self, job: Object) -> str:
        """The PriorityClass of the first pod set that names one."""
        named = (t["spec"].get("priorityClassName") for t in self.templates(job))
        return next((name for name in named if name), "")


def _merge(template: Template, info: Info) -> None:
    metadata, spec = template.setdefault("metadata", {}), template["spec"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **info.labels}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **info.annotations}
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **info.nodes}
    spec["tolerations"] = [*(spec.get("tolerations") or []), *info.tolerations]


def _job_count(job: Object) -> list[tuple[str, int]]:
    parallelism: int = job["spec"]["parallelism"]
    completions = job["spec"].get("completions")
    return [(MAIN, parallelism if completions is None else min(parallelism, int(completions)))]


def _job_suspend(job: Object, suspended: bool) -> None:  # noqa: FBT001 -- the field's own value
    job["spec"]["suspend"] = suspended


def _job_ended(job: Object) -> tuple[bool, str] | None:
    kind = finished(job)
    if kind is None:
        return None
    words: str = (condition(job, kind) or {}).get("message", "")
    return kind == "Complete", words


def _job_ready(job: Object, count: int) -> bool:
    status = job["status"]
    return bool(status.get("ready", 0) + status.get("succeeded", 0) >= count)


BATCH_JOB = Framework(
    JOB,
    "batch/job-kueue-controller",
    lambda job: bool(job["spec"].get("suspend")),
    _job_suspend,
    _job_count,
    lambda job: [job["spec"]["template"]],
    _job_ended,
    lambda job: bool(job.get("status", {}).get("active", 0)),
    _job_ready,
    # Kueue leaves batch.kubernetes.io/job-name in.
    managed=("controller-uid", "job-name", CONTROLLER_UID),
)


def _replicas(part: str, roles: tuple[str, ...]) -> Callable[[Object], Iterator[tuple[str, Any]]]:
    """The replica specs of a kubeflow.org job, in the order of its pod sets."""

    def found(job: Object) -> Iterator[tuple[str, Any]]:
        specs = job["spec"].get(part) or {}
        return ((role, specs[role]) for role in roles if role in specs)

    return found


def _policy_suspend(job: Object, suspended: bool) -> None:  # noqa: FBT001 -- the field's own value
    job["spec"].setdefault("runPolicy", {})["suspend"] = suspended


def _policy_ended(job: Object) -> tuple[bool, str] | None:
    for kind in ("Succeeded", "Failed"):
        row = condition(job, kind)
        if row is not None and row["status"] == "True":
            return kind == "Succeeded", row["message"]
    return None


def _policy_active(job: Object) -> bool:
    rows = (job.get("status") or {}).get("replicaStatuses") or {}
    return any(row.get("active") for row in rows.values())


def _kubeflow(kind: Kind, source: str, part: str, roles: tuple[str, ...]) -> Framework:
    replicas = _replicas(part, roles)
    return Framework(
        kind,
        source,
        lambda job: bool((job["spec"].get("runPolicy") or {}).get("suspend")),
        _policy_suspend,
        lambda job: [(role.lower(), spec.get("replicas", 1)) for role, spec in replicas(job)],
        lambda job: [spec["template"] for _, spec in replicas(job)],
        _policy_ended,
        _policy_active,
        lambda job, _count: is_true(job, "Running"),
    )


KUBEFLOW_MPI = _kubeflow(
    MPI_JOB, "kubeflow.org/mpijob-kueue-controller", "mpiReplicaSpecs", ("Launcher", "Worker")
)
KUBEFLOW_PYTORCH = _kubeflow(
    PYTORCH_JOB,
    "kubeflow.org/pytorchjob-kueue-controller",
    "pytorchReplicaSpecs",
    ("Master", "Worker"),
)
