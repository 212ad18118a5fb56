"""What a quota engine does for quotas and for runs, whichever one a cluster has."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

from bot.cluster.objects import ClusterObject
from bot.cluster.resources import Resource
from bot.cluster.view import View
from bot.quotas.managed import Note, Observed, Place, Wanted
from bot.quotas.standing import Cause, Item, Standing

ZERO = Decimal(0)
LATEST = datetime.max.replace(tzinfo=UTC)

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Words:
    """What an engine calls things, and what its people have to know about it.

    `queue` is what holds a quota. `after_end` says what becomes of runs above it at the end of
    an override, `unseen` that a team's queue was not seen, from its setting, namespace and
    cluster; `setting` is the key that names it. `lost` says of a run, from its queue and
    namespace, that it waits in none. `causes` say what something waits for, and what would
    unblock it. `growing` says when a run that wants more nodes gets them. With `shares_gpus` parts
    of a GPU need no resource of their own. `unchangeable` says what a cluster has, where its quotas
    cannot be changed from here.
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


@dataclass(frozen=True)
class CohortQuota:
    """What a cohort has of a flavor beyond its queues, in GPUs, and its limits towards the next."""

    name: str
    nominal: Decimal = ZERO
    borrowing_limit: Decimal | None = None
    lending_limit: Decimal | None = None


@dataclass(frozen=True)
class Figures:
    """One queue and one flavor, in GPUs; None where the engine has not said.

    `is_unlimited` says that the queue's own quota has no end; `nominal` is then all there is.
    `above` are its cohorts up to the top, the nearest first, where the engine knows of such trees.
    With `is_cohort` it is what the cohort itself has, which is the first of `above` too.
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
    """What holds a team's quota; `is_judged` says whether the engine has looked at it yet.

    `covered` are the resources it gives out, empty where it gives out any.
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

    `queue` is what it names instead of the team's queue, empty where that is the one. `labels` go
    on all its objects, `node_labels` are those of the nodes that have such GPUs, and `tolerations`
    let it on them.
    """

    queue: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    node_labels: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True)
class Waiting:
    """What waits in a queue, in the order in which the engine takes it."""

    items: tuple[Item, ...] = ()
    gpus: Decimal = ZERO


class Queues(Protocol):
    """One cluster's queues as its view shows them; never its pods."""

    @property
    def words(self) -> Words:
        """What the engine calls things."""
        ...

    @property
    def resource(self) -> str:
        """What the cluster calls a GPU."""
        ...

    @property
    def view(self) -> View:
        """Where it reads."""
        ...

    @property
    def age_seconds(self) -> float:
        """Since the server spoke last of queues; infinite before the first time."""
        ...

    @property
    def work_age_seconds(self) -> float:
        """The same of what is in the queues."""
        ...

    @property
    def is_absent(self) -> bool:
        """Whether the cluster is known not to serve the engine."""
        ...

    def behind(self, namespace: str, door: str) -> Queue | None:
        """The queue that runs get into by what they name, None when not seen."""
        ...

    def named(self, queue: str) -> Queue | None:
        """A queue, None when not seen."""
        ...

    def figures(self) -> tuple[Figures, ...]:
        """Every queue with each of its flavors."""
        ...

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """All that share the flavor with this queue, itself included."""
        ...

    def waiting(self, queue: str) -> Waiting | None:
        """What waits in a queue; None while that was not read."""
        ...

    def admitted(self, queue: str) -> Sequence[Item]:
        """What holds quota of a queue."""
        ...

    def within(self, namespace: str, door: str, besides: frozenset[str]) -> Sequence[Item]:
        """What is in a team's queue and not over, besides what these uids own.

        The queue is named as runs name it.
        """
        ...

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of the ready nodes that a flavor means; None while nobody knows."""
        ...


@dataclass(frozen=True)
class Sight:
    """A figure as a live look found it; `write` sets it, unless it has changed since."""

    observed: Observed
    write: Callable[[Wanted], None]


class Overrides(Protocol):
    """Reads and writes the figures that overrides change."""

    def look(self, place: Place) -> Sight:
        """How a figure stands in the cluster itself."""
        ...

    def notes(self) -> Iterator[tuple[Place, Note]]:
        """What the queues in the view say about overrides of this installation."""
        ...


@dataclass(frozen=True)
class Dress:
    """What a manifest is dressed with: where the run queues, and as what.

    `gpus` are those of one pod, which may be a fraction of one; `pods` start together. Where their
    number can change while they run, `least` are enough; None is where it cannot.
    """

    queue: str
    priority: str | None = None
    gpus: Decimal = ZERO
    pods: int = 1
    least: int | None = None


@dataclass(frozen=True)
class Demand:
    """What somebody wants to run, as far as queues care.

    `resources` are those that it requests, `needed` the ones of them that no queue gives out
    unless it is told to: GPUs, and the fabric between nodes.
    """

    namespace: str
    queue: str
    resources: Collection[str] = ()
    needed: Collection[str] = ()
    gpus: Decimal = ZERO
    priority: str | None = None


class Runs(Protocol):
    """What an engine has to do with runs."""

    def dress(self, manifest: Manifest, dress: Dress) -> Manifest:
        """The manifest as this engine takes charge of it; the one given stays as it is."""
        ...

    def refuse(self, demand: Demand) -> None:
        """UsageError or ConflictError where such a run is known never to start.

        What the view has not read yet is no reason to refuse.
        """
        ...

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """What it takes to be given GPUs of this type, one of those that the queue has.

        ConflictError where nothing would tell the engine which type is meant.
        """
        ...

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """What is allowed but may keep the run from ever starting, as sentences."""
        ...

    def unmanaged(self, root: Resource[Any]) -> str:
        """That the engine left a run's object alone, and what to do about it."""
        ...

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """That it would leave such an object alone, and what to do about it, or nothing.

        Where that is not sure the cluster is asked; nothing is made.
        """
        ...

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """That it does not let a run's object have more or fewer pods while it runs, or nothing."""
        ...

    def standing(self, root: ClusterObject) -> Standing | None:
        """How a run's object stands as the view shows it, None when the engine has not said."""
        ...

    def standing_live(self, root: ClusterObject) -> Standing | None:
        """The same, read from the cluster: None proves that the engine has not taken charge."""
        ...

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """The (namespace, name) of what waits in a queue, next one first; empty if unknown."""
        ...


@dataclass(frozen=True)
class Engine:
    """One cluster's quota engine; `trouble` says why the cluster is not heard, if it is not."""

    cluster: str
    queues: Queues
    overrides: Overrides
    runs: Runs
    trouble: Callable[[], str] = lambda: ""

    @property
    def words(self) -> Words:
        """What the engine calls things."""
        return self.queues.words
