"""The workload kind `mpi`: an MPIJob, whose launcher starts processes on its workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.job import ATTEMPTS, KEEP_FINISHED_SECONDS
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.kubeflow import GROUP, KubeflowJob, status_of
from bot.training.kinds.pods.mpirun import launch_command, refuse_launcher, slots
from bot.training.kinds.pods.security import is_no_root
from bot.training.kinds.pods.shell import launched_by_operator, serving_only
from bot.training.kinds.pods.ssh import HOSTFILE, add_keys, hosts_told, keys
from bot.training.kinds.pods.template import MAIN, pod_template, root_metadata
from bot.training.kinds.status import WorkloadStatus, attempts_of
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

LAUNCHER = "launcher"
# It only starts the others and passes on what they say.
_LAUNCHER_CPU, _LAUNCHER_MEMORY = "1", "2Gi"
# The operator says where the list is as Open MPI 4 wants it.
_HOSTFILE_OF_5 = EnvironmentVariable("PRTE_MCA_prte_default_hostfile", HOSTFILE)

# Reasons that say no more than that pods failed.
_BARE = frozenset({"BackoffLimitExceeded", "MPIJobFailed", "MPIJobEvicted"})


def _status(job: KubeflowJob) -> WorkloadStatus:
    limit = job.spec.run_policy.backoff_limit
    return status_of(job, bare=_BARE, attempts=attempts_of(job, limit))


MPI_JOB = RootType(
    resource=Resource(GROUP, ("v2beta1",), "mpijobs", "MPIJob", KubeflowJob),
    status=_status,
    container=MAIN,
    needs=(
        "A platform admin has to install the MPI operator, which serves kubeflow.org/v2beta1;"
        " the MPIJob v1 of the training operator is a different resource."
        " `--kind sync` needs no operator."
    ),
    replaces_workers=False,
)


@dataclass(frozen=True)
class MpiKind:
    """A launcher and as many workers as nodes, under the MPI operator."""

    name: str = "mpi"
    form: str = ""
    root: RootType = MPI_JOB
    options: frozenset[str] = frozenset({"nodes", "processes", "efa", "launcher"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError for torchrun, and without a command where we have to prepare ssh for it."""
        del site
        refuse_launcher(spec)
        if is_no_root(spec) and not spec.command:
            raise UsageError(
                "`--kind mpi` needs the command that the launcher runs, if runs are not root.",
                "Put it at the end: `-- python train.py`.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """The launcher, and a worker on each node."""
        return (
            PodSet(LAUNCHER, 1, launcher_spec(spec).requests),
            PodSet("worker", spec.nodes, spec.requests),
        )

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The MPIJob, suspended."""
        spec = spec_of(run)
        policy: Manifest = {
            "suspend": True,
            "cleanPodPolicy": "Running",
            "backoffLimit": ATTEMPTS,
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        }
        if spec.time_limit_seconds is not None:
            policy["activeDeadlineSeconds"] = spec.time_limit_seconds
        body = {
            "slotsPerWorker": slots(spec),
            # The pods of workers that are still being pulled would refuse its ssh.
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": policy,
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    # A pod whose container starts again in place is deleted with its log at the
                    # last failure.
                    "restartPolicy": "Never",
                    "template": _launcher(run, installation, spec),
                },
                "Worker": {"replicas": spec.nodes, "template": _worker(run, installation, spec)},
            },
        }
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The keys; the operator makes the Service, and keys that only root can read."""
        return (keys(run),) if spec_of(run).command else ()

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The launcher, to which all ranks speak."""
        return [pod for pod in pods if pod.labels.get(labels.ROLE) == LAUNCHER]


def _launcher(run: Run, installation: str, spec: RunSpec) -> Manifest:
    """A pod that reaches the workers by our keys; without a command it is the image's affair."""
    spec = launcher_spec(spec)
    if spec.command:
        env = (*hosts_told(run), _HOSTFILE_OF_5, *spec.env)
        spec = replace(spec, command=launched_by_operator(spec.command), env=env)
    template = pod_template(run, installation, spec)
    template["metadata"]["labels"] |= {labels.ROLE: LAUNCHER}
    if spec.command:
        add_keys(run, template["spec"])
    return template


def launcher_spec(spec: RunSpec) -> RunSpec:
    """The launcher as a pod of its own: small, without GPUs."""
    return replace(
        spec,
        command=launch_command(spec, HOSTFILE),
        gpus=Decimal(0),
        gpu_requests={},
        efa=0,
        cpu=_LAUNCHER_CPU,
        memory=_LAUNCHER_MEMORY,
        shm="0",
    )


def _worker(run: Run, installation: str, spec: RunSpec) -> Manifest:
    """A pod that waits for the launcher: without a command the operator has root run sshd.

    That takes an image made from the operator's, which has what sshd and ssh need of root.
    """
    if not spec.command:
        return pod_template(run, installation, spec)
    template = pod_template(run, installation, replace(spec, command=serving_only()))
    add_keys(run, template["spec"])
    return template
