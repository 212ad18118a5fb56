"""The objects that give a team its quota: what every engine says about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from bot.cluster.resources import Resource
from bot.errors import NotFoundError, UsageError
from bot.quotas.engines.engine import Manifest, Queues
from bot.quotas.engines.quota import QuotaField


@dataclass(frozen=True)
class TeamQuota:
    """The quota of a new team: where, how many GPUs, of which type, and below which queue.

    `above` is the cohort on Kueue, the parent Queue on KAI, and the department on Run:ai; empty for
    none. With
    `interactive_gpus`, of `interactive_type`, its sessions get a queue of their own.
    """

    namespace: str
    queue: str
    gpus: int
    gpu_type: str = ""
    above: str = ""
    interactive_gpus: int = 0
    interactive_type: str = ""

    @property
    def for_sessions(self) -> "TeamQuota":
        """The quota of its sessions, which is shared with nobody."""
        return replace(
            self, queue=f"{self.queue}-sessions", gpus=self.interactive_gpus,
            gpu_type=self.interactive_type, interactive_gpus=0,
        )  # fmt: skip


@dataclass(frozen=True)
class QuotaUnits:
    """How a cluster counts: its resource for GPUs, the units of it in a GPU, and what else counts.

    `served` are the versions of the engine's API group that the cluster serves.
    """

    resource: str
    per_gpu: int
    covered: Mapping[str, str]
    served: Sequence[str] = ()


@dataclass(frozen=True)
class TeamObject:
    """An object to create; `body` has neither labels nor API version."""

    resource: Resource[Any]
    name: str
    namespace: str | None
    body: Manifest


@dataclass(frozen=True)
class ObjectName:
    """Names an object in a cluster."""

    resource: Resource[Any]
    name: str
    namespace: str | None = None


@dataclass(frozen=True)
class QuotaManifests:
    """How GitOps changes the quotas of an engine that keeps them in objects of Kubernetes.

    `find` names the objects that hold the quota of a team, given its namespace and queue, in the
    order in which they would be created. `set_quota` changes a quota in the manifest of one of
    these, given in units of its resource.
    """

    find: Callable[[str, str, Queues], tuple[ObjectName, ...]]
    set_quota: Callable[[Manifest, QuotaField, Decimal], None]


@dataclass(frozen=True, kw_only=True)
class TeamObjects:
    """What an engine needs for a team.

    `settle` completes a request from what the cluster has; UserError if that is not possible.
    `make` returns the objects in the order in which they are created, which are of these `kinds`.
    `manifests` is None if a service outside Kubernetes has the quotas. `namespace_labels` are the
    labels by which the engine knows the namespace. `above` is what people call the queue above.
    """

    settle: Callable[[TeamQuota, Queues], TeamQuota]
    make: Callable[[TeamQuota, QuotaUnits], tuple[TeamObject, ...]]
    manifests: QuotaManifests | None
    above: str
    kinds: tuple[Resource[Any], ...]
    namespace_labels: Callable[[TeamQuota], Mapping[str, str]] = lambda _quota: {}


def one_of(said: str, known: Sequence[str], what: str, option: str) -> str:
    """The said name if it is known; without one, the only name there is.

    Raises:
        NotFoundError: it is not known.
        UsageError: none was said, and there are several.
    """
    if said:
        if said not in known:
            there = f"There is: {', '.join(known)}." if known else "There is none."
            raise NotFoundError(f"There is no {what} {said} in this cluster.", there)
        return said
    if len(known) != 1:
        names = f"Add `{option}` with one of: {', '.join(known)}."
        missing = f"A platform admin must create a {what} first."
        raise UsageError(
            f"This cluster has {len(known) or 'no'} {what}{'s' if len(known) > 1 else ''}.",
            names if known else missing,
        )
    return known[0]
