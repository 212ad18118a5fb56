"""The workload kinds: the objects that runs can consist of. A kind is one module here."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from bot.cluster import labels
from bot.cluster.cluster import Workloads
from bot.cluster.types.objects import Pod
from bot.training.kinds.deployment import DeploymentKind
from bot.training.kinds.elastic import ElasticKind
from bot.training.kinds.interactive import InteractiveKind
from bot.training.kinds.job import JobKind
from bot.training.kinds.kind import Dependent, RootType, WorkloadKind
from bot.training.kinds.mpi import MpiKind
from bot.training.kinds.nccl import AllPairsKind, NcclKind
from bot.training.kinds.pods.volumes import volume_dependents
from bot.training.kinds.pytorchjob import PyTorchJobKind
from bot.training.kinds.rayjob import RayJobKind
from bot.training.kinds.sync import SyncKind
from bot.training.kinds.trainjob import TrainJobKind
from bot.training.spec import RunSpec
from bot.training.tables import Run, RunPhase

_ALL: tuple[WorkloadKind, ...] = (
    JobKind(),
    InteractiveKind(),
    MpiKind(),
    SyncKind(),
    DeploymentKind(),
    ElasticKind(),
    PyTorchJobKind(),
    TrainJobKind(),
    NcclKind(),
    AllPairsKind(),
    RayJobKind(),
)
KINDS: Mapping[tuple[str, str], WorkloadKind] = {(kind.name, kind.form): kind for kind in _ALL}

NAMES: tuple[str, ...] = tuple(dict.fromkeys(kind.name for kind in _ALL))
# What a run can be in a cluster; a quota engine has one Workload for each of them.
ROOTS: tuple[RootType, ...] = tuple(dict.fromkeys(kind.root for kind in _ALL))
# The same, for what watches them and asks whether they have ended.
WORKLOADS: Workloads = {root.resource: root.has_ended for root in ROOTS}

_PHASES = frozenset(RunPhase)


def kind_of(spec: RunSpec) -> WorkloadKind:
    """The kind of a spec; KeyError when this version has none of that name."""
    return KINDS[spec.kind, spec.form]


def kind_of_run(run: Run) -> WorkloadKind:
    """The kind of a run; KeyError when this version has none of that name."""
    return KINDS[run.spec.get("kind", "job"), run.spec.get("form", "")]


def is_known(run: Run) -> bool:
    """Whether this version knows the kind and phase of a run that a newer one may have written."""
    kind = (run.spec.get("kind", "job"), run.spec.get("form", ""))
    return kind in KINDS and run.phase in _PHASES


def kept_after_end(run: Run) -> timedelta | None:
    """How long its root is kept after its end; None if the cluster deletes it by itself."""
    return kind_of_run(run).root.kept_for


def root_named(kind: str) -> RootType | None:
    """The type of root of that kind, None when a run is never such an object."""
    return next((each for each in ROOTS if each.kind == kind), None)


def dependents_of(run: Run) -> tuple[Dependent, ...]:
    """All objects that a run needs besides its root, volumes first."""
    return (*volume_dependents(run), *kind_of_run(run).dependents(run))


def gpus_of(spec: RunSpec) -> Decimal:
    """The GPUs of the whole run."""
    names = spec.gpus_requested.keys()
    counts = (pods.count for pods in kind_of(spec).pods(spec) if names & pods.requests.keys())
    return spec.gpus * sum(counts)


def gpus_of_pod(spec: RunSpec, pod: Pod) -> Decimal:
    """The GPUs that one of a run's pods holds: a launcher may have none."""
    role = pod.labels.get(labels.ROLE, "")
    names = spec.gpus_requested.keys()
    its = (pods for pods in kind_of(spec).pods(spec) if pods.name == role)
    has_none = any(not names & pods.requests.keys() for pods in its)
    return Decimal(0) if has_none else spec.gpus


def requests_of(spec: RunSpec) -> dict[str, Decimal]:
    """What all pods of a run request together, by resource."""
    total: dict[str, Decimal] = {}
    for pods in kind_of(spec).pods(spec):
        for resource in pods.requests:
            total[resource] = total.get(resource, Decimal(0)) + pods.requested(resource)
    return total
