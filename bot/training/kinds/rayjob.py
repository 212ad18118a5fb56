"""The workload kind `rayjob`: a RayJob of KubeRay, a Ray cluster that lives as long as its program.

docs/adding-a-kind.md walks through this module.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, ObjectPart, Pod
from bot.errors import ConflictError, UsageError
from bot.quotas.engines.registry import ENGINES
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.job import ATTEMPTS, KEEP_FINISHED_SECONDS
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.template import MAIN, pod_template, root_metadata
from bot.training.kinds.status import Progress, WorkloadStatus, attempts_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# The pod that submits the program to Ray, and whose log is the program's, is the launcher.
HEAD, WORKER, LAUNCHER = "head", "worker", "launcher"
COMMAND = "QUARTERMASTER_COMMAND"
_GROUP = "workers"
# The program runs on the head, and the tasks that it starts on the workers.
_HEAD_CPU, _HEAD_MEMORY = "2", "8Gi"
_LAUNCHER_CPU, _LAUNCHER_MEMORY = "500m", "1Gi"
# Words that shells and Ray leave as they are.
_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_LAST_LINES = ", last available logs"


class RayJobSpec(ObjectPart, frozen=True, kw_only=True):
    """What a RayJob wants."""

    suspend: bool = False
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None


class RayJobStatus(ObjectPart, frozen=True, kw_only=True):
    """How far a RayJob is: `job_status` is Ray's, `job_deployment_status` the operator's."""

    job_status: str = ""
    job_deployment_status: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    end_time: datetime | None = None
    failed: int | None = None


class RayJob(ClusterObject, frozen=True, kw_only=True):
    """A RayJob of KubeRay."""

    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


def _status(job: RayJob) -> WorkloadStatus:
    status, spec = job.status, job.spec
    return WorkloadStatus(
        _progress(status),
        reason=status.reason,
        # Ray appends the last lines of the program, which the card shows anyway.
        message=status.message.partition(_LAST_LINES)[0],
        is_telling=status.reason == "AppFailed" and bool(status.message),
        ended_at=status.end_time,
        started_at=status.start_time,
        is_suspended=spec.suspend,
        is_running=status.job_status == "RUNNING",
        failed_pods=status.failed or 0,
        attempts=attempts_of(job, spec.backoff_limit),
        time_limit_seconds=spec.active_deadline_seconds,
    )


def _progress(status: RayJobStatus) -> Progress:
    """How far it is; a failure counts once the operator has no attempt left."""
    is_success = status.job_status == "SUCCEEDED"
    match status.job_deployment_status:
        case "Complete":
            # Ray counts a job that somebody stopped in its dashboard as complete, too.
            return Progress.SUCCEEDED if is_success else Progress.FAILED
        case "Failed" | "ValidationFailed":
            return Progress.FAILED
        case _:
            return Progress.FINISHING if is_success else Progress.GOING


RAY_JOB = RootType(
    resource=Resource("ray.io", ("v1",), "rayjobs", "RayJob", RayJob),
    status=_status,
    container=MAIN,
    needs=(
        "A platform admin has to install KubeRay 1.3 or newer, which serves ray.io/v1."
        " `--kind sync` and `--kind elastic` need no operator."
    ),
    kept_for=timedelta(seconds=KEEP_FINISHED_SECONDS),
)


@dataclass(frozen=True)
class RayJobKind:
    """A Ray cluster with a worker on each node, and a pod that submits the program to it."""

    name: str = "rayjob"
    form: str = ""
    root: RootType = RAY_JOB
    options: frozenset[str] = frozenset({"nodes", "efa"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError without a command; ConflictError under engines with which it was not tried."""
        if not spec.command:
            raise UsageError(
                "`--kind rayjob` needs the program that runs on the Ray cluster.",
                "Put it at the end: `-- python train.py`.",
            )
        if site.cluster.engine in {"kai", "runai"}:
            name = ENGINES[site.cluster.engine].terms.engine
            raise ConflictError(
                f"RayJobs run under Kueue or without a quota engine, and this cluster has {name}.",
                "Use `--kind sync` or `--kind elastic`, or a cluster of the team that has Kueue.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """The head, a worker on each node, and the pod that submits."""
        return (
            PodSet(HEAD, 1, _head(spec).requests),
            PodSet(WORKER, spec.nodes, spec.requests),
            PodSet(LAUNCHER, 1, _launcher(spec).requests),
        )

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The RayJob, suspended."""
        spec = spec_of(run)

        def template(role: str, of: RunSpec) -> Manifest:
            made = pod_template(run, installation, of)
            made["metadata"]["labels"] |= {labels.ROLE: role}
            return made

        workers = {
            "groupName": _GROUP,
            "replicas": spec.nodes,
            "minReplicas": spec.nodes,
            "maxReplicas": spec.nodes,
            "rayStartParams": {},
            "template": template(WORKER, replace(spec, command=())),
        }
        # Without CPUs of its own the head gets no tasks.
        head = {"rayStartParams": {"num-cpus": "0"}, "template": template(HEAD, _head(spec))}
        body: Manifest = {
            "suspend": True,
            "entrypoint": _entrypoint(spec.command),
            "submissionMode": "K8sJobMode",
            "submitterPodTemplate": template(LAUNCHER, _launcher(spec)),
            # Its failure is the program's: each attempt has a Ray cluster and a submitter.
            "submitterConfig": {"backoffLimit": 0},
            "backoffLimit": ATTEMPTS,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": [workers]},
        }
        if spec.time_limit_seconds is not None:
            body["activeDeadlineSeconds"] = spec.time_limit_seconds
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """None: the operator makes the Ray cluster and its Services."""
        del run
        return ()

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The pod that submits, which repeats what the program says."""
        return [pod for pod in pods if pod.labels.get(labels.ROLE) == LAUNCHER]


def _head(spec: RunSpec) -> RunSpec:
    """The head as a pod of its own: without GPUs, with all volumes and variables."""
    told = () if _is_plain(spec.command) else (_command_variable(spec.command),)
    return replace(
        _without_gpus(spec),
        env=(*spec.env, *told),
        cpu=_HEAD_CPU,
        memory=_HEAD_MEMORY,
    )


def _launcher(spec: RunSpec) -> RunSpec:
    """The pod that submits: it waits for the program and repeats what that says, nothing else."""
    return replace(
        _without_gpus(spec),
        env=(),
        secrets=(),
        mounts=(),
        volumes=(),
        data=(),
        cpu=_LAUNCHER_CPU,
        memory=_LAUNCHER_MEMORY,
    )


def _without_gpus(spec: RunSpec) -> RunSpec:
    """A pod that KubeRay gives a command and, where it runs Ray, a /dev/shm."""
    return replace(spec, command=(), gpus=Decimal(0), gpu_requests={}, efa=0, shm="0")


def _entrypoint(command: Sequence[str]) -> str:
    """The program as Ray's command line takes it, which loses the quotes of words that need them.

    Such a program is in a variable of the head, whose shell reads it from there.
    """
    return " ".join(command) if _is_plain(command) else f"printenv {COMMAND} '|' sh"


def _is_plain(command: Sequence[str]) -> bool:
    return all(map(_PLAIN.fullmatch, command))


def _command_variable(command: Sequence[str]) -> EnvironmentVariable:
    return EnvironmentVariable(COMMAND, f"exec {shlex.join(command)}")
