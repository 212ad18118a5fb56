"""The protocol of workload kinds, which turn the row of a run into objects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from bot.cluster.objects import Pod
from bot.cluster.quantities import parse_quantity
from bot.cluster.resources import Resource
from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.training.spec import RunSpec
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
class Site:
    """Where a run is to be created; what the view has not read yet does not cause a refusal."""

    team: Team
    view: View
    cluster: ClusterSettings
    team_name: str


class WorkloadKind(Protocol):
    """A workload kind, or a form of one.

    `name` follows --kind and `form` follows --form, empty for the usual form. `options` are the
    options of a submission that only some kinds have, and this one does. `needs` says what a
    cluster has to have installed when it does not serve `root`.
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
    def root(self) -> Resource[Any]:
        """What the quota engine manages, and whose fate is the run's."""
        ...

    @property
    def options(self) -> frozenset[str]:
        """The options that it knows beyond those of every kind."""
        ...

    @property
    def needs(self) -> str:
        """What to do where its root is not served, as sentences."""
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
