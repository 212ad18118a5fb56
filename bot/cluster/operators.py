"""Objects of training operators, reduced to the fields the bot looks at."""

from collections.abc import Mapping
from datetime import datetime

from bot.cluster.objects import ClusterObject, Condition, ObjectPart


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


class TrainJobSpec(ObjectPart, frozen=True, kw_only=True):
    """What a TrainJob wants."""

    suspend: bool = False
    active_deadline_seconds: int | None = None


class ChildJobStatus(ObjectPart, frozen=True, kw_only=True):
    """How far one group of a TrainJob's Jobs is."""

    name: str = ""
    ready: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class TrainJobStatus(ObjectPart, frozen=True, kw_only=True):
    """How far a TrainJob is; no condition says that it runs."""

    conditions: tuple[Condition, ...] = ()
    jobs_status: tuple[ChildJobStatus, ...] = ()


class TrainJob(ClusterObject, frozen=True, kw_only=True):
    """A TrainJob of Kubeflow Trainer."""

    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()
