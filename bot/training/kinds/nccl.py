"""The workload kind `nccl`: a test of the bandwidth between nodes, one GPU a rank."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.job import JOB
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.mpirun import launch_command
from bot.training.kinds.pods.names import first_pods
from bot.training.kinds.pods.shell import PAIR_HOSTS, tested, tested_in_pairs
from bot.training.kinds.pods.ssh import HOSTFILE
from bot.training.kinds.sync import OPEN_OPTIONS, launching_dependents, launching_job
from bot.training.pairs import ALL_PAIRS, plan
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# A number of ranks says as much of itself: that goes to files, and into the log only what tells
# which network was used, or why the test failed.
_DEBUG = (
    EnvironmentVariable("NCCL_DEBUG", "INFO"),
    EnvironmentVariable("NCCL_DEBUG_FILE", "/tmp/nccl-debug.%h.%p"),  # noqa: S108 - in the run's own pod
)
# A single large size tells the bandwidth of a pair within seconds.
_PAIR_OPTIONS = ("-b", "512M", "-e", "512M", "-g", "1", "-c", "0", "-n", "20")
# The bot reads the last 5,000 lines of a log, with one for each pair.
_FEWEST, _MOST = 3, 64


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
        """The Job, suspended."""
        spec = _with_debug(spec_of(run))
        test = launch_command(spec, HOSTFILE)
        return _job_apart(run, installation, spec, (test[0], spec.command[0]), tested(test))

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The keys, and the names of the pods."""
        return launching_dependents(run)

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The launcher, to which all ranks speak."""
        return first_pods(pods)


@dataclass(frozen=True)
class AllPairsKind(NcclKind):
    """The same test, and then one of each pair of its nodes, to find a slow node or pair."""

    form: str = ALL_PAIRS

    @override
    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError also for too few or too many nodes, and for a command that starts ranks."""
        super().refuse(spec, site)
        if not _FEWEST <= spec.nodes <= _MOST:
            raise UsageError(
                f"Pairs are measured among {_FEWEST} to {_MOST} nodes, not {spec.nodes}.",
                "Use for example `--nodes 4`. Two nodes are one pair, which the usual test"
                " measures.",
            )
        if launch_command(spec, HOSTFILE) == spec.command:
            raise UsageError(
                f"`--form {ALL_PAIRS}` starts the test on each pair of nodes itself.",
                "Give only the program of the test and its options, for example"
                " `-- all_reduce_perf -b 8 -e 1G`.",
            )

    @override
    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended."""
        spec = _with_debug(spec_of(run))
        test = launch_command(spec, HOSTFILE)
        program = spec.command[0]
        pair = replace(spec, nodes=2, command=(program, *_PAIR_OPTIONS))
        command = tested_in_pairs(test, launch_command(pair, PAIR_HOSTS), plan(spec.nodes))
        needs = (test[0], program, "timeout", "mktemp")
        return _job_apart(run, installation, spec, needs, command)


def _with_debug(spec: RunSpec) -> RunSpec:
    return replace(spec, env=(*_DEBUG, *spec.env))


def _job_apart(
    run: Run, installation: str, spec: RunSpec, needs: Sequence[str], command: tuple[str, ...]
) -> Manifest:
    """The Job that runs a command; no two of its pods share a node."""
    apart = {
        "labelSelector": {"matchLabels": {labels.RUN: run.id}},
        "topologyKey": "kubernetes.io/hostname",
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    spec = replace(spec, command=command)
    found = tuple(dict.fromkeys(needs))
    return launching_job(run, installation, spec, found, affinity={"podAntiAffinity": rule})
