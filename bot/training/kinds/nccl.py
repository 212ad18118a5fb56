"""The workload kind `nccl`: a test of the bandwidth between nodes, one GPU a rank."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.indexed import first_pods
from bot.training.kinds.job import JOB
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.mpirun import launch_command
from bot.training.kinds.shell import tested
from bot.training.kinds.ssh import HOSTFILE
from bot.training.kinds.sync import OPEN_OPTIONS, launching_dependents, launching_job
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# A number of ranks says as much of itself: that goes to files, and into the log only what tells
# which network was used, or why the test failed.
_DEBUG = (
    EnvironmentVariable("NCCL_DEBUG", "INFO"),
    EnvironmentVariable("NCCL_DEBUG_FILE", "/tmp/nccl-debug.%h.%p"),  # noqa: S108 - in the run's own pod
)


@dataclass(frozen=True)
class NcclKind:
    """A pod on each of several nodes; the first one starts the test on all their GPUs."""

    name: str = "nccl"
    form: str = ""
    root: RootType = JOB
    options: frozenset[str] = frozenset({"nodes", "efa", *OPEN_OPTIONS})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError for a part of a GPU: a rank has a whole one."""
        del site
        if not spec.gpus or spec.gpus != spec.gpus.to_integral_value():
            raise UsageError(
                "A network test uses whole GPUs on each node.", "Use `--gpus 1` or more."
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A pod on each node."""
        return (PodSet("main", spec.nodes, spec.requests),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended; no two of its pods share a node."""
        spec = spec_of(run)
        spec = replace(spec, env=(*_DEBUG, *spec.env))
        test = launch_command(spec, HOSTFILE)
        apart = {
            "labelSelector": {"matchLabels": {labels.RUN: run.id}},
            "topologyKey": "kubernetes.io/hostname",
        }
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        needs = dict.fromkeys((test[0], spec.command[0]))
        spec = replace(spec, command=tested(test))
        return launching_job(
            run, installation, spec, tuple(needs), affinity={"podAntiAffinity": rule}
        )

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The keys, and the names of the pods."""
        return launching_dependents(run)

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The launcher, to which all ranks speak."""
        return first_pods(pods)
