"""The status of the root of a run, in the same form for every resource."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from bot.cluster import labels
from bot.cluster.objects import ClusterObject, Condition, Job, find_condition, has_condition
from bot.cluster.operators import KubeflowJob, TrainJob
from bot.cluster.resources import JOBS, MPIJOBS, PYTORCHJOBS, TRAINJOBS, Resource


class Progress(StrEnum):
    """The progress that an object reports; one that is finishing already reports its end."""

    GOING = "going"
    FINISHING = "finishing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True)
class WorkloadStatus:
    """The status that an object reports.

    `reason` and `message` are its own words for a failure. `is_running` is its own evidence that
    a pod runs; without it pods may still run. `failed_pods` counts attempts; `attempts` is how
    many there may be, of each of its pods where it counts them so, None where it does not say.
    """

    course: Progress = Progress.GOING
    reason: str = ""
    message: str = ""
    ended_at: datetime | None = None
    started_at: datetime | None = None
    is_suspended: bool = False
    is_running: bool = False
    failed_pods: int = 0
    attempts: int | None = None
    time_limit_seconds: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.course in {Progress.SUCCEEDED, Progress.FAILED}


@dataclass(frozen=True)
class Root:
    """The root of a run: the object that its quota engine manages and whose end is the run's.

    `nodes` is how many it asks for, None where that cannot be changed in it.
    """

    object: ClusterObject
    fate: WorkloadStatus
    nodes: int | None = None

    @property
    def uid(self) -> str:
        """The uid, which differs from that of an earlier object of the same name."""
        return self.object.uid

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.object.metadata.deletion_timestamp is not None


def root_of(resource: Resource[Any], object_: ClusterObject) -> Root:
    """An object of this resource as the root of a run."""
    count = _NODES.get(resource)
    return Root(object_, _FATES[resource](object_), count(object_) if count else None)


def with_nodes(resource: Resource[Any], nodes: int) -> dict[str, Any]:
    """The merge patch that sets the number of nodes of an object of this resource."""
    return _WITH_NODES[resource](nodes)


def _job(job: Job) -> WorkloadStatus:
    status, spec = job.status, job.spec
    per_index = spec.backoff_limit_per_index
    ends = {"Failed": Progress.FAILED, "Complete": Progress.SUCCEEDED}
    coming = {"FailureTarget", "SuccessCriteriaMet"}
    course, said = _course(status.conditions, ends, coming)
    return WorkloadStatus(
        course,
        reason=said.reason,
        message=said.message,
        ended_at=status.completion_time or said.last_transition_time,
        started_at=status.start_time,
        is_suspended=spec.suspend,
        is_running=status.ready > 0,
        failed_pods=status.failed,
        attempts=_attempts(job, per_index if per_index is not None else spec.backoff_limit),
        time_limit_seconds=spec.active_deadline_seconds,
    )


def _attempts(object_: ClusterObject, backoff_limit: int | None) -> int | None:
    """How many attempts there may be; where Quartermaster counts them itself, a note says so."""
    noted = object_.metadata.annotations.get(labels.ATTEMPTS)
    limit = backoff_limit if noted is None else int(noted)
    return None if limit is None else limit + 1


def _kubeflow_job(job: KubeflowJob) -> WorkloadStatus:
    status, policy = job.status, job.spec.run_policy
    is_pytorch = bool(job.spec.pytorch_replica_specs)  # counts containers that start again
    ends = {"Failed": Progress.FAILED, "Succeeded": Progress.SUCCEEDED}
    course, said = _course(status.conditions, ends)
    return WorkloadStatus(
        course,
        reason=said.reason,
        message=said.message,
        ended_at=status.completion_time or said.last_transition_time,
        started_at=status.start_time,
        is_suspended=policy.suspend,
        is_running=has_condition(status.conditions, "Running"),
        failed_pods=sum(each.failed for each in status.replica_statuses.values()),
        attempts=None if is_pytorch else _attempts(job, policy.backoff_limit),
        time_limit_seconds=policy.active_deadline_seconds,
    )


def _train_job(job: TrainJob) -> WorkloadStatus:
    status, spec = job.status, job.spec
    ends = {"Failed": Progress.FAILED, "Complete": Progress.SUCCEEDED}
    course, said = _course(status.conditions, ends)
    return WorkloadStatus(
        course,
        reason=said.reason,
        message=said.message,
        ended_at=said.last_transition_time,
        is_suspended=spec.suspend,
        is_running=any(each.ready for each in status.jobs_status),
        failed_pods=sum(each.failed for each in status.jobs_status),
        time_limit_seconds=spec.active_deadline_seconds,
    )


def _course(
    conditions: Sequence[Condition],
    ends: Mapping[str, Progress],
    coming: frozenset[str] | set[str] = frozenset(),
) -> tuple[Progress, Condition]:
    """How far it is, and the condition that says so; a failure wins over a success."""
    for type_, course in ends.items():
        found = find_condition(conditions, type_)
        if found is not None and found.true:
            return course, found
    is_coming = any(has_condition(conditions, type_) for type_ in coming)
    return (Progress.FINISHING if is_coming else Progress.GOING), Condition()


_NODES: Mapping[Resource[Any], Callable[[Any], int | None]] = {
    JOBS: lambda job: job.spec.completions,
    PYTORCHJOBS: lambda job: job.spec.workers,
}
_WITH_NODES: Mapping[Resource[Any], Callable[[int], dict[str, Any]]] = {
    # Kubernetes takes the one only together with the other.
    JOBS: lambda nodes: {"spec": {"completions": nodes, "parallelism": nodes}},
    PYTORCHJOBS: lambda nodes: {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": nodes}}}},
}
_FATES: Mapping[Resource[Any], Callable[[Any], WorkloadStatus]] = {
    JOBS: _job,
    MPIJOBS: _kubeflow_job,
    PYTORCHJOBS: _kubeflow_job,
    TRAINJOBS: _train_job,
}
