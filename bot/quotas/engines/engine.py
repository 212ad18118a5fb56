"""The interface of a quota engine, for quotas and for runs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, Pod
from bot.cluster.view import View
from bot.quotas.engines.admission import AdmissionState, Cause, Item
from bot.quotas.engines.quota import Observed, QuotaAnnotation, QuotaField, QuotaTarget
from bot.quotas.engines.team_store import TeamStore

ZERO = Decimal(0)
LATEST = datetime.max.replace(tzinfo=UTC)

Manifest = dict[str, Any]


@dataclass(frozen=True)
class EngineTerms:
    """An engine's terms, and its sentences for people.

    `queue` is the kind of object that holds a quota, and `setting` the key that names it.
    `after_end` says what happens to runs above quota when an override ends. `unseen` says that a
    team's queue was not found, given its setting, namespace and cluster. `lost` says that a run
    waits in no queue, given its queue and namespace. `causes` say what something waits for, and
    what would unblock it. `growing` says when a run that wants more nodes gets them. With
    `shares_gpus`, fractions of a GPU need no resource of their own. `unchangeable` completes
    "Cluster X has" if the cluster's quotas cannot be changed from here. `service` is the service
    outside the cluster that has the quotas, if one does.
    """

    engine: str
    queue: str
    setting: str
    after_end: str
    unseen: Callable[[str, str, str], str]
    lost: Callable[[str, str], str]
    causes: Mapping[Cause, tuple[str, str]]
    growing: str
    shares_gpus: bool = False
    unchangeable: str = ""
    service: str = ""


@dataclass(frozen=True)
class CohortQuota:
    """A cohort's own quota of a flavor, in GPUs, and its limits towards its parent."""

    name: str
    nominal: Decimal = ZERO
    borrowing_limit: Decimal | None = None
    lending_limit: Decimal | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of one queue and one flavor, in GPUs; None if the engine has not reported one.

    With `is_unlimited` the queue's own quota has no limit; `nominal` is then all that nodes have.
    `above` are its cohorts from the nearest to the top, if the engine has a tree of them. With
    `is_cohort` these are the figures of a cohort itself, which is also the first of `above`.
    """

    queue: str
    cohort: str
    flavor: str
    nominal: Decimal
    borrowing_limit: Decimal | None
    lending_limit: Decimal | None
    used: Decimal | None
    reserved: Decimal | None
    borrowed: Decimal | None
    reclaims: bool
    is_unlimited: bool = False
    above: tuple[CohortQuota, ...] = ()
    is_cohort: bool = False


@dataclass(frozen=True)
class Queue:
    """What holds a team's quota; `is_judged` says whether the engine has evaluated it yet.

    `covered` are the resources that it covers; empty means any.
    """

    name: str
    figures: tuple[Figures, ...]
    is_judged: bool = True
    covered: frozenset[str] = frozenset()

    def of(self, flavor: str) -> Figures | None:
        """The figures of one flavor."""
        return next((each for each in self.figures if each.flavor == flavor), None)


@dataclass(frozen=True)
class Placement:
    """What a run needs to be given GPUs of one type.

    `queue` is the queue to name instead of the team's, empty for the team's own. `labels` are set
    on all its objects, `node_labels` select the nodes with such GPUs, and `tolerations` tolerate
    the taints of these nodes.
    """

    queue: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    node_labels: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True)
class QueueBacklog:
    """What waits in a queue, in the order in which the engine admits it."""

    items: tuple[Item, ...] = ()
    gpus: Decimal = ZERO


class Queues(Protocol):
    """One cluster's queues as its view shows them; never its pods."""

    @property
    def words(self) -> EngineTerms:
        """What the engine calls things."""
        ...

    @property
    def resource(self) -> str:
        """The name of the resource that counts as a GPU."""
        ...

    @property
    def view(self) -> View:
        """The view that it reads."""
        ...

    @property
    def age_seconds(self) -> float:
        """The age of what is known of queues; infinite before they were read."""
        ...

    @property
    def work_age_seconds(self) -> float:
        """The age of what is known of the work in the queues."""
        ...

    @property
    def is_absent(self) -> bool:
        """Whether the cluster is known not to serve the engine."""
        ...

    def behind(self, namespace: str, queue_name: str) -> Queue | None:
        """The queue that runs enter by naming `queue_name`, None if not found."""
        ...

    def named(self, queue: str) -> Queue | None:
        """A queue, None if not found."""
        ...

    def figures(self) -> tuple[Figures, ...]:
        """Every queue with each of its flavors."""
        ...

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """The figures of all queues that share the flavor with this one, itself included."""
        ...

    def waiting(self, queue: str) -> QueueBacklog | None:
        """What waits in a queue; None while that was not read."""
        ...

    def admitted(self, queue: str) -> Sequence[Item]:
        """What holds quota of a queue."""
        ...

    def within(self, namespace: str, queue_name: str, besides: frozenset[str]) -> Sequence[Item]:
        """The unfinished work in a team's queue, except what these uids own.

        `queue_name` is the queue as runs name it.
        """
        ...

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of the ready nodes that a flavor selects; None while unknown."""
        ...


@dataclass(frozen=True)
class QuotaReader:
    """A quota as read from the cluster; `write` sets it, unless it has changed since."""

    observed: Observed
    write: Callable[[QuotaTarget], None]


class Overrides(Protocol):
    """Reads and writes the quotas that overrides change."""

    def look(self, place: QuotaField) -> QuotaReader:
        """Reads a quota from the cluster."""
        ...

    def notes(self) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
        """The notes of this installation on the queues in the view."""
        ...


@dataclass(frozen=True)
class QueueingSpec:
    """How a run is queued: its queue, its priority and its size.

    `gpus` are those of one pod, and may be a fraction; `pods` start together. `least` is the
    smallest number of pods if that number can change while they run, else None. Pods that several
    objects make, but that are admitted together, are called `group`.
    """

    queue: str
    priority: str | None = None
    gpus: Decimal = ZERO
    pods: int = 1
    least: int | None = None
    group: str = ""


@dataclass(frozen=True)
class Demand:
    """What a run demands of its queue.

    `resources` are those that it requests. `needed` are the ones among them that a queue has to
    cover explicitly: GPUs, and the fabric between nodes.
    """

    namespace: str
    queue: str
    resources: Collection[str] = ()
    needed: Collection[str] = ()
    gpus: Decimal = ZERO
    priority: str | None = None


class Runs(Protocol):
    """What an engine does with runs."""

    def apply_queueing(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """A copy of the manifest that this engine manages."""
        ...

    def apply_beside(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """A copy of the manifest of an object beside the run's, whose pods belong to its group."""
        ...

    def refuse(self, demand: Demand) -> None:
        """Raises UsageError or ConflictError if such a run is known never to start.

        What the view has not read yet does not count.
        """
        ...

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """What a run needs to get GPUs of this type, which is one of the queue's.

        ConflictError if the engine could not distinguish the type from another.
        """
        ...

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """Sentences about what is allowed but may keep the run from ever starting."""
        ...

    def unmanaged(self, resource: Resource[Any], root: ClusterObject) -> str:
        """The sentence that the engine did not manage a run's object, and what to do about it.

        Empty if that has another cause, which Kubernetes reports.
        """
        ...

    def left_out(self, root: ClusterObject, pods: Sequence[Pod]) -> str:
        """The sentence that the engine does not manage pods of a run's group, and never will.

        Empty if it does, for a run that is no group, and while that is unknown.
        """
        ...

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """The sentence that the engine would not manage such an object, or nothing if it would.

        If that is not certain, the cluster is asked by a dry run; nothing is created.
        """
        ...

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """The sentence that a run cannot have more or fewer pods while it runs, or nothing."""
        ...

    def admission(self, root: ClusterObject) -> AdmissionState | None:
        """The state of a run's object in the view, None if the engine has not reported one."""
        ...

    def live_admission(self, root: ClusterObject) -> AdmissionState | None:
        """The same, read from the cluster: None proves that the engine does not manage it."""
        ...

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """The (namespace, name) of what waits in a queue, next one first; empty if unknown."""
        ...


@dataclass(frozen=True)
class Engine:
    """One cluster's quota engine; `trouble` says why the cluster does not answer, if so.

    `store` is the service outside Kubernetes that keeps its quotas, if one does.
    """

    cluster: str
    queues: Queues
    overrides: Overrides
    runs: Runs
    trouble: Callable[[], str] = lambda: ""
    store: TeamStore | None = None

    @property
    def words(self) -> EngineTerms:
        """What the engine calls things."""
        return self.queues.words
