"""Run:ai's workloads as items of a project, and what they wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final

from bot.cluster.types.objects import Pod, find_condition
from bot.quotas.engines.admission import Blocked, Cause
from bot.quotas.engines.runai.objects import PENDING, WorkloadRecord

_ZERO: Final = Decimal(0)
_REASONS = {
    "NonPreemptibleOverQuota": Cause.NOT_PREEMPTIBLE,
    "OverLimit": Cause.LIMIT,
}


@dataclass(frozen=True, slots=True)
class RunaiItem:
    """One workload that waits or runs; `object_uid` and `labels` are those of its object.

    They are empty if the view does not show the object.
    """

    record: WorkloadRecord
    object_uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_name(self) -> str:
        """Its id in Run:ai."""
        return self.record.id

    @property
    def namespace(self) -> str:
        """The namespace of its project."""
        return self.record.namespace

    @property
    def name(self) -> str:
        """Its name, which is that of its object."""
        return self.record.name

    @property
    def kind(self) -> str:
        """Its type, as Run:ai calls it."""
        return self.record.type

    @property
    def uid(self) -> str:
        """The uid of its object; without one in the view, its id in Run:ai."""
        return self.object_uid or self.record.id

    @property
    def owner_uids(self) -> tuple[str, ...]:
        """The uid of its object."""
        return (self.object_uid,) if self.object_uid else ()

    @property
    def queue(self) -> str:
        """Its project."""
        return self.record.project_name

    @property
    def gpus(self) -> Decimal:
        """The GPUs that its pods request together."""
        requested = self.record.workload_requested_resources
        return (requested.gpu.request if requested and requested.gpu else None) or _ZERO

    @property
    def priority(self) -> int:
        """Higher starts first."""
        return self.record.priority or 0

    @property
    def created_at(self) -> datetime | None:
        """When it was created."""
        return self.record.created_at

    @property
    def reserved_at(self) -> datetime | None:
        """None: Run:ai does not report since when it has had its GPUs."""
        return None

    @property
    def ends_at(self) -> datetime | None:
        """None: Run:ai does not report when a time limit ends it."""
        return None

    @property
    def is_admitted(self) -> bool:
        """Whether it has its GPUs."""
        return self.blocked is None

    @property
    def is_finished(self) -> bool:
        """False: only workloads that wait or run are read."""
        return False

    @property
    def blocked(self) -> Blocked | None:
        """Why it has no GPUs, None if it has."""
        return blocked(self.record)

    def held(self, flavor: str) -> Decimal:
        """The GPUs that it holds in a node pool."""
        allocated = self.record.allocated_resources
        pools = self.record.current_node_pools or ()
        return (allocated.gpu if allocated and flavor in pools else None) or _ZERO


def blocked(record: WorkloadRecord) -> Blocked | None:
    """Why a workload has no GPUs; None if it has."""
    if record.phase != PENDING:
        return None
    said = " ".join((record.phase_message or "").split())
    cause = _REASONS.get(record.phase_reason or "")
    if cause is not None:
        return Blocked(cause, said)
    return Blocked(Cause.QUOTA, said) if said else Blocked(Cause.NOT_LOOKED_AT)


def blocked_pods(pods: Sequence[Pod]) -> Blocked | None:
    """Why none of a run's pods has a node, as its scheduler says in them; None if one has."""
    if any(pod.spec.node_name for pod in pods):
        return None
    found = (find_condition(pod.status.conditions, "PodScheduled") for pod in pods)
    said = (" ".join(each.message.split()) for each in found if each and each.status == "False")
    message = next(filter(None, said), "")
    return Blocked(Cause.QUOTA, message) if message else Blocked(Cause.NOT_LOOKED_AT)
