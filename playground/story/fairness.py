"""The fairness story in data: four teams on sixteen GPUs, and what they do in four stages.

It is the one of NetApp's TR-4858, sections 4.8 to 4.10, where Run:AI plays it. Whoever plays it
on a cluster reads the queues and the expected figures here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Object = dict[str, Any]
GPU_TENTHS = "example.com/gpu-tenths"
TENTHS = 10
COHORT, FLAVOR, INTERACTIVE = "tr4858", "default", "interactive"
NODES = {"dgx1-1": 8, "dgx1-2": 8}
QUOTAS = {"team-a": 4, "team-b": 2, "team-c": 2, "team-d": 8}
CONFIGURATION: Object = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "fairSharing": {
        "preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    },
    "resources": {"excludeResourcePrefixes": ["cpu", "memory"]},
}
_TRAINING, _NOTEBOOK = "gcr.io/run-ai-demo/quickstart", "jupyter/base-notebook"


@dataclass(frozen=True)
class Work:
    """A run that a person submits."""

    name: str
    gpus: Decimal
    interactive: bool = False
    image: str = _TRAINING

    @property
    def team(self) -> str:
        """The team of the run."""
        return f"team-{self.name[0]}"


@dataclass(frozen=True)
class Stage:
    """What happens, and how the cluster stands when it has: GPUs by team, and who waits.

    Of each pair in `either` one waits and the other runs. `published` is what the guide prints.
    """

    section: str
    title: str
    submits: tuple[Work, ...] = ()
    stops: tuple[str, ...] = ()
    allocated: Mapping[str, int] = field(default_factory=dict)
    waits: tuple[str, ...] = ()
    either: tuple[tuple[str, str], ...] = ()
    published: Mapping[str, str] = field(default_factory=dict)


def _interactive(name: str, gpus: str, image: str = _TRAINING) -> Work:
    return Work(name, Decimal(gpus), interactive=True, image=image)


def _train(name: str, gpus: int) -> Work:
    return Work(name, Decimal(gpus))


def _by_team(a: int, b: int, c: int, d: int) -> dict[str, int]:
    return dict(zip(QUOTAS, (a, b, c, d), strict=True))


def _told(a: str, b: str, c: str, d: str) -> dict[str, str]:
    return dict(zip(QUOTAS, (a, b, c, d), strict=True))


STAGES = (
    Stage(
        "4.8",
        "Idle GPUs are borrowed",
        submits=(
            _interactive("a-1-1-jupyter", "1", _NOTEBOOK),
            _train("a-1-g", 1),
            _train("a-2-gg", 2),
            _interactive("b-1-g06", "0.6"),
            _interactive("b-2-g04", "0.4"),
            _train("b-3-g", 1),
            _train("b-4-gg", 2),
            _interactive("c-1-g05", "0.5"),
            _interactive("c-2-g03", "0.3"),
            _interactive("c-3-g02", "0.2"),
            _train("c-4-gg", 2),
            _train("c-5-g", 1),
            _train("d-1-gggg", 4),
        ),
        allocated=_by_team(4, 4, 4, 4),
        published=_told("4/4", "4/2", "4/2", "4/8"),
    ),
    Stage(
        "4.9",
        "Their owner takes them back",
        submits=(_train("d-2-gg", 2), _train("d-3-gg", 2)),
        allocated=_by_team(4, 2, 2, 8),
        waits=("b-4-gg", "c-4-gg"),
        published=_told("4/4", "2/2", "2/2", "8/8"),
    ),
    Stage(
        "4.10a",
        "More is asked for than there is",
        submits=(
            _train("a-3-gg", 2),
            _train("a-4-gg", 2),
            _train("b-5-gg", 2),
            _train("c-6-gg", 2),
        ),
        allocated=_by_team(4, 2, 2, 8),
        waits=("b-4-gg", "c-4-gg", "a-3-gg", "a-4-gg", "b-5-gg", "c-6-gg"),
        published=_told(
            "4/4, 2 queued x 2 GPU",
            "2/2, 2 queued x 2 GPU",
            "2/2, 2 queued x 2 GPU",
            "8/8, none",
        ),
    ),
    Stage(
        "4.10b",
        "team-d leaves, and the others share by their quotas",
        stops=("d-1-gggg", "d-2-gg", "d-3-gg"),
        allocated=_by_team(8, 4, 4, 0),
        either=(("b-4-gg", "b-5-gg"), ("c-4-gg", "c-6-gg")),
        published=_told(
            "8/4, four over quota, empty queue",
            "4/2, two over quota, one workload queued",
            "4/2, two over quota, one workload queued",
            "0/8, no workloads",
        ),
    ),
)


def works() -> dict[str, Work]:
    """Everything that is submitted in any stage, by name."""
    return {work.name: work for stage in STAGES for work in stage.submits}


def waiting_gpus(stage: Stage, team: str) -> list[Decimal]:
    """The GPUs of each run of a team that waits at the end of a stage."""
    known = works()
    waits = (*stage.waits, *(pair[0] for pair in stage.either))
    return [known[name].gpus for name in waits if known[name].team == team]


def cluster_queue(team: str) -> Object:
    """The ClusterQueue of a team: its quota in tenths of a GPU, its weight its quota."""
    quota = {"name": GPU_TENTHS, "nominalQuota": str(QUOTAS[team] * TENTHS)}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": team},
        "spec": {
            "cohortName": COHORT,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team}},
            "queueingStrategy": "BestEffortFIFO",
            "fairSharing": {"weight": str(QUOTAS[team])},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": [GPU_TENTHS],
                    "flavors": [{"name": FLAVOR, "resources": [quota]}],
                }
            ],
        },
    }
