"""The workload kind `elastic`: PyTorch on as many nodes as there are, in one Indexed Job."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.job import JOB, indexed_job
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.launchers import (
    DEEPSPEED,
    MPIRUN,
    NONE,
    TORCHRUN,
    is_python,
    launchers_in,
    program_at,
)
from bot.training.kinds.pods.names import domain, first_pods, host, name_service
from bot.training.kinds.pods.shell import checked, meeting
from bot.training.kinds.pods.template import pod_template, root_metadata
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

ELASTIC = "elastic"
PORT = 29400
# How often the processes of a node are started anew, and then how often its pod.
RESTARTS, ATTEMPTS = 10, 3
_SYNC = "`--kind sync`, for example `--kind sync --nodes 2 -- mpirun python train.py`"
# Newer ones know it with a hyphen, too.
_NO_PYTHON = "--no_python"
_MODULE = "torch.distributed.run"
# What says where the nodes meet, so that we do not say who is there first.
_OWN_MEETING = re.compile(r"--(rdzv[-_](backend|endpoint|conf)|standalone|master[-_]addr)\b")
_OWN_VARIABLES = frozenset({"PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_STANDALONE"})


@dataclass(frozen=True)
class ElasticKind:
    """A pod on each node, which find each other anew whenever their number changes."""

    name: str = ELASTIC
    form: str = ""
    root: RootType = JOB
    options: frozenset[str] = frozenset({"nodes", "range", "processes", "efa", "launcher"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError where the command starts processes by ssh, which its pods have not."""
        del site
        refuse_launcher(spec)

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A pod on each node."""
        return (PodSet("main", spec.nodes, spec.requests, least=spec.nodes_allowed[0]),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended."""
        spec = spec_of(run)
        told = replace(spec, command=met_command(spec), env=(*spec.env, *_told(run, spec)))
        fewest, most = spec.nodes_allowed
        template = pod_template(run, installation, told, subdomain=domain(run))
        body = indexed_job(spec, template) | {
            "backoffLimitPerIndex": ATTEMPTS,
            # As many may be lost for good as it can do without; never more than it may shrink to.
            "maxFailedIndexes": min(most - fewest, fewest),
            # The nodes end together, and the first one has what they meet at.
            "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
        }
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The Service by which the pods find each other by name."""
        return (name_service(run),)

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The first node."""
        return first_pods(pods)


def processes(spec: RunSpec) -> int:
    """The processes of a node: as asked, else one for each GPU."""
    return spec.processes or max(1, int(spec.gpus))


def refuse_launcher(spec: RunSpec) -> None:
    """UsageError where the command starts processes on other nodes by itself."""
    if spec.launcher == MPIRUN:
        raise UsageError(
            "`--launcher mpirun` does not apply to `--kind elastic`, which uses torchrun.",
            f"Leave it out, or use {_SYNC}.",
        )
    own = launchers_in(spec.command) & {MPIRUN, DEEPSPEED}
    if own and not spec.launcher and spec.nodes_allowed[1] > 1:
        raise UsageError(
            f"{min(own)} reaches other nodes by ssh, which `--kind elastic` does not set up.",
            f"Use {_SYNC}. Or let every node run the command itself: `--launcher none`.",
        )


def met_command(spec: RunSpec) -> tuple[str, ...]:
    """What its pods run: the command, where the first pod knows that the others meet at it."""
    given = {each.name for each in spec.env}
    if given & _OWN_VARIABLES or any(map(_OWN_MEETING.search, spec.command)):
        return checked_command(spec)
    command = launch_command(spec)
    return meeting(command) if command else ()


def checked_command(spec: RunSpec) -> tuple[str, ...]:
    """What its pods run where it is known otherwise at which of them they meet."""
    command = launch_command(spec)
    return checked(command) if command else ()


def launch_command(spec: RunSpec) -> tuple[str, ...]:
    """The command under torchrun, unless it starts the processes of its node by itself."""
    command = spec.command
    is_own = spec.launcher == NONE or (not spec.launcher and launchers_in(command))
    if not command or is_own:
        return command
    at = program_at(command)
    if at >= len(command):
        return (TORCHRUN, _NO_PYTHON, *command)
    return (*command[:at], *_under_torchrun(command[at:]))


def _under_torchrun(program: Sequence[str]) -> tuple[str, ...]:
    """A program as torchrun starts it, with the interpreter that was named by its path."""
    first, rest = program[0], list(program[1:])
    if is_python(first):
        while rest[:1] == ["-u"]:  # torchrun says so itself
            del rest[0]
        if rest and (rest[0] == "-m" or not rest[0].startswith("-")):
            launcher = (first, "-m", _MODULE) if "/" in first else (TORCHRUN,)
            return (*launcher, *rest)
    if first == "-m" or first.endswith(".py"):
        return (TORCHRUN, *program)
    return (TORCHRUN, _NO_PYTHON, *program)


def _told(run: Run, spec: RunSpec) -> Sequence[EnvironmentVariable]:
    """What torchrun takes for its options where the command does not give them."""
    fewest, most = spec.nodes_allowed
    values: Mapping[str, str] = {
        "PET_NNODES": f"{fewest}:{most}",
        "PET_NPROC_PER_NODE": str(processes(spec)),
        "PET_MAX_RESTARTS": str(RESTARTS),
        "PET_RDZV_ID": run.job_name,
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{host(run, 0)}:{PORT}",
    }
    given = {each.name for each in spec.env}
    return [EnvironmentVariable(*each) for each in values.items() if each[0] not in given]
