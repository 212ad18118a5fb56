"""What jobs of kubeflow.org have in common: their objects and their status."""

from collections.abc import Mapping
from datetime import datetime

from bot.cluster.types.objects import ClusterObject, Condition, ObjectPart, has_condition
from bot.training.kinds.status import Progress, WorkloadStatus, progress_of

GROUP = "kubeflow.org"
_ENDS = {"Failed": Progress.FAILED, "Succeeded": Progress.SUCCEEDED}


class RunPolicy(ObjectPart, frozen=True, kw_only=True):
    """How the pods of an MPIJob or PyTorchJob are treated as a whole."""

    suspend: bool = False
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None


class ReplicaSpec(ObjectPart, frozen=True, kw_only=True):
    """How many pods of one role are wanted."""

    replicas: int | None = None


class KubeflowJobSpec(ObjectPart, frozen=True, kw_only=True):
    """What an MPIJob or PyTorchJob wants."""

    run_policy: RunPolicy = RunPolicy()
    pytorch_replica_specs: Mapping[str, ReplicaSpec] = {}

    @property
    def workers(self) -> int | None:
        """The number of workers of a PyTorchJob, None if it is not set."""
        found = self.pytorch_replica_specs.get("Worker")
        return found.replicas if found else None


class ReplicaStatus(ObjectPart, frozen=True, kw_only=True):
    """How many pods of one role are how far."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0


class KubeflowJobStatus(ObjectPart, frozen=True, kw_only=True):
    """How far an MPIJob or PyTorchJob is; conditions that no longer hold stay, as False."""

    conditions: tuple[Condition, ...] = ()
    replica_statuses: Mapping[str, ReplicaStatus] = {}
    start_time: datetime | None = None
    completion_time: datetime | None = None


class KubeflowJob(ClusterObject, frozen=True, kw_only=True):
    """An MPIJob of the MPI operator, or a PyTorchJob of the training operator."""

    spec: KubeflowJobSpec = KubeflowJobSpec()
    status: KubeflowJobStatus = KubeflowJobStatus()


def status_of(
    job: KubeflowJob, *, bare: frozenset[str], attempts: int | None = None
) -> WorkloadStatus:
    """The status of a job; `bare` are reasons that say no more than that pods failed."""
    status, policy = job.status, job.spec.run_policy
    progress, said = progress_of(status.conditions, _ENDS)
    return WorkloadStatus(
        progress,
        reason=said.reason,
        message=said.message,
        is_bare=said.reason.partition("/")[0] in bare,
        ended_at=status.completion_time or said.last_transition_time,
        started_at=status.start_time,
        is_suspended=policy.suspend,
        is_running=has_condition(status.conditions, "Running"),
        failed_pods=sum(each.failed for each in status.replica_statuses.values()),
        attempts=attempts,
        time_limit_seconds=policy.active_deadline_seconds,
    )
