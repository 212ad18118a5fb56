"""The kind `elastic` as a TrainJob of Kubeflow Trainer, which keeps the nodes it starts with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, Condition, ObjectPart, Pod
from bot.errors import ClusterError, ConflictError, UsageError
from bot.quotas.engines.registry import ENGINES
from bot.training.kinds.elastic import ELASTIC, checked_command, processes, refuse_launcher
from bot.training.kinds.job import KEEP_FINISHED_SECONDS
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.names import first_pods
from bot.training.kinds.pods.template import pod_template, root_metadata
from bot.training.kinds.status import Progress, WorkloadStatus, progress_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

_PATCHES = "runtimePatches"
RUNTIME = "torch-distributed"
# What the runtime calls its Job, and the container in that.
_NODE = "node"
# What the trainer sets itself; its webhook refuses a TrainJob that sets them.
_RESERVED = frozenset(
    {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}
)
# What a patch may say of that container.
_OWN = ("volumeMounts", "securityContext")

_ENDS = {"Failed": Progress.FAILED, "Complete": Progress.SUCCEEDED}
# Reasons of its JobSet that say no more than that pods failed.
_BARE = frozenset({"FailedJobs", "ReachedMaxRestarts"})


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


def _status(job: TrainJob) -> WorkloadStatus:
    status, spec = job.status, job.spec
    progress, said = progress_of(status.conditions, _ENDS)
    return WorkloadStatus(
        progress,
        reason=said.reason,
        message=said.message,
        is_bare=said.reason in _BARE,
        ended_at=said.last_transition_time,
        is_suspended=spec.suspend,
        is_running=any(each.ready for each in status.jobs_status),
        failed_pods=sum(each.failed for each in status.jobs_status),
        time_limit_seconds=spec.active_deadline_seconds,
    )


def earlier(manifest: Manifest, refusal: ClusterError) -> Manifest | None:
    """The same TrainJob as Kubeflow Trainer 2.1 has it; None if another one refused it.

    2.1 knows no time limit either. ClusterError where it must not be root: 2.1 cannot say so of
    its pods.
    """
    if refusal.reason != "BadRequest" or _PATCHES not in refusal.message:
        return None
    spec = {
        k: v for k, v in manifest["spec"].items() if k not in {_PATCHES, "activeDeadlineSeconds"}
    }
    (patch,) = manifest["spec"][_PATCHES]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    if "securityContext" in job["template"]["spec"]["template"]["spec"]:
        raise ClusterError(
            "Kubeflow Trainer 2.1 cannot set the user that the pods of a TrainJob run as.",
            "A platform admin has to install 2.2, or let the team run as root:"
            " `admission.security: baseline`. Without `--form` the run needs no operator.",
            reason="Invalid",
        )
    override = {"targetJobs": [{"name": job["name"]}], **job["template"]["spec"]["template"]}
    return manifest | {"spec": spec | {"podTemplateOverrides": [override]}}


TRAIN_JOB = RootType(
    resource=Resource("trainer.kubeflow.org", ("v1alpha1",), "trainjobs", "TrainJob", TrainJob),
    status=_status,
    container=_NODE,
    needs=(
        "A platform admin has to install Kubeflow Trainer 2.1 or newer, which serves"
        " trainer.kubeflow.org/v1alpha1. Without `--form` the run needs no operator."
    ),
    kept_for=timedelta(seconds=KEEP_FINISHED_SECONDS),
    earlier=earlier,
)


@dataclass(frozen=True)
class TrainJobKind:
    """A pod on each node, under Kubeflow Trainer's runtime for PyTorch."""

    name: str = ELASTIC
    form: str = "trainjob"
    root: RootType = TRAIN_JOB
    options: frozenset[str] = frozenset({"nodes", "processes", "efa", "launcher"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """ConflictError under KAI, whose scheduler a TrainJob has no field to name.

        UsageError for variables that the trainer keeps to itself, and for commands that start
        processes by ssh.
        """
        refuse_launcher(spec)
        set_by_run = {each.name for each in spec.env} | {each.name for each in spec.secrets}
        if taken := sorted(set_by_run & _RESERVED):
            raise UsageError(
                f"A TrainJob cannot set {', '.join(taken)}: Kubeflow Trainer sets it itself.",
                "Leave it out, and give the numbers with `--nodes` and `--processes`, for example"
                " `--nodes 2 --processes 8`.",
            )
        if site.cluster.engine in {"kai", "runai"}:
            name = ENGINES[site.cluster.engine].terms.engine
            raise ConflictError(
                f"A TrainJob cannot set the scheduler of its pods, so {name} would not see them.",
                "Leave `--form` out: the run is then a Job.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A pod on each node."""
        return (PodSet(_NODE, spec.nodes, spec.requests),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The TrainJob, suspended, as Kubeflow Trainer has it from 2.2 on."""
        spec = spec_of(run)
        spec = replace(spec, command=checked_command(spec))
        template = pod_template(run, installation, spec)
        container = template["spec"]["containers"][0]
        trainer: Manifest = {
            "numNodes": spec.nodes,
            "numProcPerNode": processes(spec),
            "image": spec.image,
            "env": container["env"],
            "resourcesPerNode": container["resources"],
        }
        if spec.command:
            trainer["command"] = container["command"]
        body: Manifest = {
            "suspend": True,
            "runtimeRef": {
                "apiGroup": TRAIN_JOB.resource.group,
                "kind": "ClusterTrainingRuntime",
                "name": RUNTIME,
            },
            "trainer": trainer,
            _PATCHES: [_patch(template)],
        }
        if spec.time_limit_seconds is not None:
            body["activeDeadlineSeconds"] = spec.time_limit_seconds
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """None: the JobSet of the TrainJob makes the Service."""
        del run
        return ()

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The first node."""
        return first_pods(pods)


def _patch(template: Manifest) -> Manifest:
    """What the runtime's pods have from ours, as far as a TrainJob may say it."""
    pod, (container,) = template["spec"], template["spec"]["containers"]
    kept = (
        "volumes", "serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations",
        "securityContext",
    )  # fmt: skip
    spec = {name: pod[name] for name in kept if pod.get(name)}
    own = {name: container[name] for name in _OWN if container.get(name)}
    if own:
        spec["containers"] = [{"name": _NODE, **own}]
    pods = {"metadata": template["metadata"], "spec": spec}
    job = {"name": _NODE, "template": {"spec": {"template": pods}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    # The trainer's webhook takes nothing without a path behind the domain.
    return {"manager": f"{labels.PREFIX}manager", "trainingRuntimeSpec": runtime}
