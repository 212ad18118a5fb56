"""The form `deployment` of the kind `sync`: a Job that launches, and workers in a Deployment.

It is how people do it by hand: the two parts find each other by the addresses of their nodes. Kueue
admits all their pods together, as a group; without a quota engine they get their nodes one after
the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import DEPLOYMENTS, LOCAL_QUEUES
from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.training.kinds.job import ATTEMPTS, JOB, KEEP_FINISHED_SECONDS, LAUNCH_FAILURE_POLICY
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.mpirun import launch_command, slots
from bot.training.kinds.pods.names import domain, name_service
from bot.training.kinds.pods.shell import launching, launching_without_ssh, plain, waiting_to_serve
from bot.training.kinds.pods.ssh import SSH_PORT, add_keys, keys
from bot.training.kinds.pods.template import pod_metadata, pod_spec, root_metadata
from bot.training.kinds.sync import LAUNCHING, OPEN_OPTIONS, SyncKind, on_nodes
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

LAUNCHER, WORKER = "launcher", "worker"
# Kueue sends to it what names no queue.
_DEFAULT_QUEUE = "default"
# Written by the launcher: only it knows on which nodes they are.
HOSTFILE = "/tmp/quartermaster/hostfile"  # noqa: S108 - in the container of one run
_MACHINEFILE = "/tmp/quartermaster/machinefile"  # noqa: S108 - the same


@dataclass(frozen=True)
class DeploymentKind:
    """A launcher, which takes part, and a worker on each other node until it has ended."""

    name: str = "sync"
    form: str = "deployment"
    root: RootType = JOB
    options: frozenset[str] = frozenset({"nodes", "processes", "efa", *LAUNCHING, *OPEN_OPTIONS})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError if the engine admits its parts apart, and for what they cannot be."""
        _refuse_apart(site)
        SyncKind().refuse(spec, site)
        if spec.nodes == 1:
            raise UsageError(
                "`--form deployment` runs a launcher on one node and workers on others.",
                "Give the total number of nodes, for example `--nodes 2`.",
            )
        if not spec.host_network:
            raise UsageError(
                "The pods of `--form deployment` find each other by the addresses of their nodes.",
                "Add `--host-network`, or leave `--form` out: the run then has a network of its"
                " own.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """The launcher, and a worker on each other node."""
        return (
            PodSet(LAUNCHER, 1, spec.requests),
            PodSet(WORKER, spec.nodes - 1, spec.requests),
        )

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job that launches, suspended."""
        spec = spec_of(run)
        begin = launching_without_ssh if spec.worker_command else launching
        command = begin(launch_command(spec, HOSTFILE))
        body: Manifest = {
            "suspend": True,
            "backoffLimit": ATTEMPTS,
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": LAUNCH_FAILURE_POLICY,
            "template": {
                "metadata": pod_metadata(run, installation, {labels.ROLE: LAUNCHER}),
                "spec": _pod(run, replace(spec, command=command)),
            },
        }
        if spec.time_limit_seconds is not None:
            body["activeDeadlineSeconds"] = spec.time_limit_seconds
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The keys, the Service that tells their addresses, and the workers."""
        workers = Dependent(DEPLOYMENTS, f"{run.job_name}-workers", partial(_workers, run))
        return (keys(run), name_service(run), workers)

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The launcher, to which all ranks speak."""
        return [pod for pod in pods if pod.labels.get(labels.ROLE) == LAUNCHER]


def is_group(spec: RunSpec) -> bool:
    """Whether the pods of such a run belong to several objects, and start together."""
    return (spec.kind, spec.form) == ("sync", "deployment")


def _refuse_apart(site: Site) -> None:
    """UsageError under an engine that admits launcher and workers one after the other."""
    engine, one_job = site.cluster.engine, "Leave `--form` out: launcher and workers are then one"
    if engine not in {"none", "kueue"}:
        raise UsageError(
            "`--form deployment` of `--kind sync` would be admitted in two parts, workers and"
            " launcher, and two such runs can each hold the GPUs that the other waits for.",
            f"{one_job} Job, admitted as a whole.",
        )
    namespace = site.team.namespace
    if engine == "kueue" and site.view.get(LOCAL_QUEUES, _DEFAULT_QUEUE, namespace) is not None:
        raise UsageError(
            f"Namespace {namespace} has a LocalQueue `default`, through which Kueue admits the"
            " launcher and the workers of `--form deployment` apart.",
            f"{one_job} Job, admitted as a whole.",
        )


def _workers(run: Run) -> Manifest:
    """The Deployment, whose pods are marked as the run's when it is made."""
    spec = spec_of(run)
    mine = {labels.RUN: run.id, labels.ROLE: WORKER}
    command = plain(spec.worker_command) if spec.worker_command else waiting_to_serve()
    pod = _pod(run, replace(spec, command=command))
    pod["restartPolicy"] = "Always"
    if spec.priority:
        pod["priorityClassName"] = spec.priority
    body = {
        "replicas": spec.nodes - 1,
        # Two on one node would want the same port.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": mine},
        "template": {"metadata": {"labels": mine}, "spec": pod},
    }
    return {"spec": body}


def _pod(run: Run, spec: RunSpec) -> Manifest:
    """What launcher and workers have in common: the network of their nodes, and what finds it."""
    pod = pod_spec(run, spec)
    add_keys(run, pod)
    on_nodes(pod, spec)
    container = pod["containers"][0]
    container["ports"] = [SSH_PORT]
    address = {"fieldRef": {"fieldPath": "status.podIP"}}
    told = {
        "QUARTERMASTER_DOMAIN": domain(run),
        "QUARTERMASTER_NODES": str(spec.nodes),
        "QUARTERMASTER_SLOTS": str(slots(spec)),
        "QUARTERMASTER_HOSTFILE": HOSTFILE,
        "HYDRA_HOST_FILE": _MACHINEFILE,
        "I_MPI_HYDRA_HOST_FILE": _MACHINEFILE,
        "OMPI_MCA_orte_default_hostfile": HOSTFILE,
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
    }
    container["env"] = [
        {"name": "QUARTERMASTER_ADDRESS", "valueFrom": address},
        *({"name": name, "value": value} for name, value in told.items()),
        *container["env"],
    ]
    return pod
