"""The workload kind `elastic`: PyTorch on as many nodes as there are, in one Indexed Job."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from bot.cluster.objects import Pod
from bot.cluster.resources import JOBS, Resource
from bot.slack.container_parameters import EnvironmentVariable
from bot.training.kinds.indexed import domain, first_pods, host, indexed_job, name_service
from bot.training.kinds.kind import Companion, Manifest, PodSet, Site
from bot.training.kinds.pods import pod_template, root_metadata
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

ELASTIC = "elastic"
PORT = 29400
# How often the processes of a node are started anew, and then how often its pod.
RESTARTS, ATTEMPTS = 10, 3
TORCHRUN = "torchrun"
_OWN_LAUNCHERS = frozenset({TORCHRUN, "accelerate", "composer", "deepspeed", "lightning"})
_OWN_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
_PYTHON = re.compile(r"python[0-9.]*")


@dataclass(frozen=True)
class ElasticKind:
    """A pod on each node, which find each other anew whenever their number changes."""

    name: str = ELASTIC
    form: str = ""
    root: Resource[Any] = JOBS
    options: frozenset[str] = frozenset({"nodes", "range", "processes", "efa"})
    needs: str = ""

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """Nothing: what holds for every kind is all there is."""

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """A pod on each node."""
        return (PodSet("main", spec.nodes, spec.requests, least=spec.nodes_allowed[0]),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended."""
        spec = spec_of(run)
        told = replace(spec, command=launch_command(spec), env=(*spec.env, *_told(run, spec)))
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

    def companions(self, run: Run) -> tuple[Companion, ...]:
        """The Service by which the pods find each other by name."""
        return (name_service(run),)

    def speakers(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The first node."""
        return first_pods(pods)


def processes(spec: RunSpec) -> int:
    """The processes of a node: as asked, else one for each GPU."""
    return spec.processes or max(1, int(spec.gpus))


def launch_command(spec: RunSpec) -> tuple[str, ...]:
    """The command under torchrun, unless it starts the processes of its node by itself."""
    command = spec.command
    if not command or _launches(command):
        return command
    program = PurePosixPath(command[0])
    if _PYTHON.fullmatch(program.name) and len(command) > 1:
        script = command[1]
        if script == "-m" or not script.startswith("-"):
            return (TORCHRUN, *command[1:])
    if program.suffix == ".py":
        return (TORCHRUN, *command)
    return (TORCHRUN, "--no-python", *command)


def _launches(command: Sequence[str]) -> bool:
    is_module = command[1:2] == ("-m",) and command[2:3] and command[2] in _OWN_MODULES
    return bool(is_module) or PurePosixPath(command[0]).name in _OWN_LAUNCHERS


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
