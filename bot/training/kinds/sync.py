"""The workload kind `sync`: a launcher and workers in one Indexed Job, without an operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.job import ATTEMPTS, JOB, indexed_job
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.mpirun import launch_command, refuse_launcher
from bot.training.kinds.pods.names import domain, first_pods, name_service
from bot.training.kinds.pods.shell import serving, with_own_workers
from bot.training.kinds.pods.ssh import HOSTFILE, SSH_PORT, add_keys, hosts_told, keys
from bot.training.kinds.pods.template import pod_template, root_metadata
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# What a team has to be allowed: the network of nodes, and all that a node can do.
OPEN_OPTIONS = ("host_network", "privileged")
LAUNCHING = ("launcher", "worker_command")


@dataclass(frozen=True)
class SyncKind:
    """A pod on each node, of which the first starts processes on all of them by ssh."""

    name: str = "sync"
    form: str = ""
    root: RootType = JOB
    options: frozenset[str] = frozenset({"nodes", "processes", "efa", *LAUNCHING, *OPEN_OPTIONS})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError without a command, or for torchrun: the image's own is not known here."""
        del site
        refuse_launcher(spec)
        if not spec.command:
            raise UsageError(
                "`--kind sync` needs the command that runs on every node.",
                "Put it at the end: `-- python train.py`.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A pod on each node."""
        return (PodSet("main", spec.nodes, spec.requests),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended."""
        spec = spec_of(run)
        command = launch_command(spec, HOSTFILE)
        return launching_job(run, installation, replace(spec, command=command))

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The keys, and the names of the pods."""
        return launching_dependents(run)

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The launcher, to which all ranks speak."""
        return first_pods(pods)


def launching_job(
    run: Run, installation: str, spec: RunSpec, needs: Sequence[str] = (), **more: Any
) -> Manifest:
    """A Job whose first pod runs the command once it reaches all, and which is over with it.

    `needs` are programs that the command starts, `more` are fields of the pods' spec.
    """
    worker = spec.worker_command
    command = with_own_workers(spec.command, worker) if worker else serving(spec.command, needs)
    spec = replace(spec, command=command, env=(*_hosts(run), *spec.env))
    template = pod_template(run, installation, spec, subdomain=domain(run), **more)
    add_keys(run, template["spec"])
    template["spec"]["containers"][0]["ports"] = [SSH_PORT]
    on_nodes(template["spec"], spec)
    body = indexed_job(spec, template) | {
        "backoffLimit": ATTEMPTS,
        "successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
    }
    return {"metadata": root_metadata(run, installation), "spec": body}


def launching_dependents(run: Run) -> tuple[Dependent, ...]:
    """What such a Job needs beside it."""
    return (keys(run), name_service(run))


def on_nodes(pod: Manifest, spec: RunSpec) -> None:
    """Gives a pod the network of its node, and all that the node can do, where that was asked."""
    if spec.host_network:
        pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if spec.privileged:
        pod["containers"][0]["securityContext"] = {"privileged": True}


def _hosts(run: Run) -> tuple[EnvironmentVariable, ...]:
    """The hosts, also as Open MPI looks for them."""
    return (
        *hosts_told(run),
        EnvironmentVariable("OMPI_MCA_orte_default_hostfile", HOSTFILE),
        EnvironmentVariable("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        EnvironmentVariable("PRTE_MCA_prte_default_hostfile", HOSTFILE),
    )
