"""The kind `elastic` as a PyTorchJob, whose operator tells torchrun where the nodes meet."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import Pod
from bot.training.kinds.elastic import (
    ATTEMPTS,
    ELASTIC,
    RESTARTS,
    met_command,
    processes,
    refuse_launcher,
)
from bot.training.kinds.job import KEEP_FINISHED_SECONDS
from bot.training.kinds.kind import Dependent, Manifest, NodeCount, PodSet, RootType, Site
from bot.training.kinds.kubeflow import GROUP, KubeflowJob, status_of
from bot.training.kinds.pods.template import pod_template, root_metadata
from bot.training.kinds.status import WorkloadStatus
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# The operator looks for a container of this name.
_PROGRAM = "pytorch"
_BARE = frozenset({"BackoffLimitExceeded", "PyTorchJobFailed"})


def _status(job: KubeflowJob) -> WorkloadStatus:
    # Its backoffLimit counts containers that start again, not attempts.
    return status_of(job, bare=_BARE)


PYTORCH_JOB = RootType(
    resource=Resource(GROUP, ("v1",), "pytorchjobs", "PyTorchJob", KubeflowJob),
    status=_status,
    container=_PROGRAM,
    needs=(
        "A platform admin has to install the training operator, which serves kubeflow.org/v1."
        " Without `--form` the run needs no operator."
    ),
    nodes=NodeCount(
        lambda job: job.spec.workers,
        lambda nodes: {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": nodes}}}},
    ),
    unqueued="Without `--form`, the run is a Job, which Kueue manages.",
)


@dataclass(frozen=True)
class PyTorchJobKind:
    """A worker on each node, under the training operator."""

    name: str = ELASTIC
    form: str = "pytorchjob"
    root: RootType = PYTORCH_JOB
    options: frozenset[str] = frozenset({"nodes", "range", "processes", "efa", "launcher"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError where the command starts processes by ssh, which its pods have not."""
        del site
        refuse_launcher(spec)

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A worker on each node."""
        return (PodSet("worker", spec.nodes, spec.requests, least=spec.nodes_allowed[0]),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The PyTorchJob, suspended."""
        spec = spec_of(run)
        fewest, most = spec.nodes_allowed
        policy: Manifest = {
            "suspend": True,
            "cleanPodPolicy": "Running",
            "backoffLimit": ATTEMPTS,
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        }
        if spec.time_limit_seconds is not None:
            policy["activeDeadlineSeconds"] = spec.time_limit_seconds
        worker = {
            "replicas": spec.nodes,
            "restartPolicy": "OnFailure",
            "template": _template(run, installation, spec),
        }
        body = {
            "elasticPolicy": {
                "rdzvBackend": "c10d",
                "rdzvId": run.job_name,
                "minReplicas": fewest,
                "maxReplicas": most,
                "maxRestarts": RESTARTS,
            },
            "nprocPerNode": str(processes(spec)),
            "runPolicy": policy,
            "pytorchReplicaSpecs": {"Worker": worker},
        }
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """None: the operator makes the Services."""
        del run
        return ()

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The first worker."""
        return [pod for pod in pods if pod.labels.get(labels.REPLICA_INDEX) == "0"]


def _template(run: Run, installation: str, spec: RunSpec) -> Manifest:
    template = pod_template(run, installation, replace(spec, command=met_command(spec)))
    # The operator warns of one that is not its own.
    del template["spec"]["restartPolicy"]
    (container,) = template["spec"]["containers"]
    container["name"] = _PROGRAM
    index = {"fieldPath": f"metadata.labels['{labels.REPLICA_INDEX}']"}
    container["env"].append({"name": "QUARTERMASTER_INDEX", "valueFrom": {"fieldRef": index}})
    return template
