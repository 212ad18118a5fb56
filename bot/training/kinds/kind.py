"""The protocol of workload kinds, which turn the row of a run into objects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol

from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, Pod
from bot.cluster.types.quantities import parse_quantity
from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.errors import ClusterError
from bot.training.kinds.status import Root, WorkloadStatus
from bot.training.spec import CreatedVolume, RunSpec
from bot.training.tables import Run

Manifest = dict[str, Any]


@dataclass(frozen=True)
class PodSet:
    """Equal pods of a run: what each of them requests, by resource.

    With fewer than `least` of them the run does nothing; None stands for all.
    """

    name: str
    count: int
    requests: Mapping[str, str]
    least: int | None = None

    def requested(self, resource: str) -> Decimal:
        """The total request of a resource of all these pods."""
        return parse_quantity(self.requests.get(resource, "0")) * self.count


@dataclass(frozen=True)
class Dependent:
    """An object that a run needs beside its root.

    `body` gives all of it but its metadata and is asked when the object is made, so that a
    Secret's values are nowhere else. One that `is_first` is made before the root and belongs to
    nobody; the others are owned by the root. One that `stays` is left when the run ends.
    """

    resource: Resource[Any]
    name: str
    body: Callable[[], Manifest]
    is_first: bool = False
    stays: bool = False


@dataclass(frozen=True)
class Forerunners:
    """The live runs that end before a new run starts: their ids, and the PVCs created for them."""

    run_ids: frozenset[str] = frozenset()
    volumes: Mapping[str, CreatedVolume] = field(default_factory=dict)


NO_FORERUNNERS = Forerunners()


@dataclass(frozen=True)
class Site:
    """Where a run is to be created; what the view has not read yet does not cause a refusal."""

    team: Team
    view: View
    cluster: ClusterSettings
    team_name: str
    forerunners: Forerunners = NO_FORERUNNERS


@dataclass(frozen=True)
class NodeCount:
    """How the number of nodes is read from a root, and the merge patch that sets another one."""

    of: Callable[[Any], int | None]
    patch: Callable[[int], Manifest]


@dataclass(frozen=True, kw_only=True, eq=False)
class RootType:
    """What the root of a run can be: a resource, and what is particular to its objects.

    `status` reads an object. `needs` says in sentences what a cluster has to have installed that
    does not serve the resource; empty if every cluster does. `nodes` is None where the number of
    nodes is fixed. `container` is the name of the container that runs the program in its pods.
    `kept_for` is how long the bot keeps an ended one; None if the cluster deletes it by itself.
    `earlier` is the same object for an operator before the current one, given how the cluster
    refused that; None if it was refused for another reason. `replaces_workers` is False where a
    worker that failed is not made again, and the launcher waits for all of them. `unqueued` is
    what to do instead where Kueue has no integration for it; empty if Kueue has it by default.
    """

    resource: Resource[Any]
    status: Callable[[Any], WorkloadStatus]
    container: str
    needs: str = ""
    nodes: NodeCount | None = None
    kept_for: timedelta | None = None
    earlier: Callable[[Manifest, ClusterError], Manifest | None] | None = None
    replaces_workers: bool = True
    unqueued: str = ""

    @property
    def kind(self) -> str:
        """The kind of the objects, as their manifests name it."""
        return self.resource.kind

    @property
    def verbs(self) -> tuple[str, ...]:
        """What the bot does with the objects in teams' namespaces, in the verbs of RBAC."""
        return ("create", "delete", *(["patch"] if self.nodes else []))

    def has_ended(self, object_: Any) -> bool:
        """Whether an object of this resource has ended."""
        return self.status(object_).is_over

    def read(self, object_: ClusterObject) -> Root:
        """An object of this resource as the root of a run."""
        count = self.nodes.of(object_) if self.nodes else None
        return Root(object_, self.status(object_), count)


class WorkloadKind(Protocol):
    """A workload kind, or a form of one.

    `name` follows --kind and `form` follows --form, empty for the usual form. `options` are the
    options of a submission that only some kinds have, and this one does.
    """

    @property
    def name(self) -> str:
        """The kind."""
        ...

    @property
    def form(self) -> str:
        """Its form."""
        ...

    @property
    def root(self) -> RootType:
        """What the quota engine manages, and whose end is the run's."""
        ...

    @property
    def options(self) -> frozenset[str]:
        """The options that it knows beyond those of every kind."""
        ...

    def refuse(self, spec: RunSpec, site: Site, /) -> None:
        """UserError when such a run is impossible, with an example that works."""
        ...

    def pods(self, spec: RunSpec, /) -> tuple[PodSet, ...]:
        """The pods that a run of this spec has when all of it runs."""
        ...

    def manifest(self, run: Run, installation: str, /) -> Manifest:
        """The root, suspended; the same for the same row."""
        ...

    def dependents(self, run: Run, /) -> tuple[Dependent, ...]:
        """The other objects, in the order in which they are made; the same for the same row."""
        ...

    def log_pods(self, pods: Sequence[Pod], /) -> Sequence[Pod]:
        """Those of its pods whose log is the run's."""
        ...
