"""Kueue's Workloads as items of a queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from bot.cluster.types.objects import OwnerReference, find_condition, has_condition
from bot.cluster.types.queues import Workload
from bot.quotas.engines.admission import Blocked
from bot.quotas.engines.kueue.conditions import blocked

_ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class KueueItem:
    """One Workload; `per_gpu` is how much of `resource` is one GPU.

    A group of pods has many owners; `root` is the object that started it, if it is known.
    """

    workload: Workload
    resource: str
    per_gpu: int = 1
    root: OwnerReference | None = None

    @property
    def own_name(self) -> str:
        """The Workload's name."""
        return self.workload.name

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.workload.namespace

    @property
    def name(self) -> str:
        """The name of what the Workload stands for."""
        owner = self._owner
        return owner.name if owner else self.workload.name

    @property
    def kind(self) -> str:
        """The kind of what it stands for."""
        owner = self._owner
        return owner.kind if owner else "Workload"

    @property
    def uid(self) -> str:
        """The uid of what it stands for."""
        owner = self._owner
        return owner.uid if owner else self.workload.uid

    @property
    def owner_uids(self) -> tuple[str, ...]:
        """The uids of all that own the Workload."""
        owners = self.workload.metadata.owner_references
        return tuple(owner.uid for owner in ((self.root,) if self.root else owners))

    @property
    def labels(self) -> Mapping[str, str]:
        """The Workload's labels."""
        return self.workload.labels

    @property
    def queue(self) -> str:
        """The LocalQueue it names."""
        return self.workload.spec.queue_name

    @property
    def gpus(self) -> Decimal:
        """The GPUs it requests in total."""
        return self.workload.requested(self.resource) / self.per_gpu

    @property
    def priority(self) -> int:
        """Higher is admitted first."""
        return self.workload.spec.priority

    @property
    def created_at(self) -> datetime | None:
        """When it was created."""
        return self.workload.metadata.creation_timestamp

    @property
    def reserved_at(self) -> datetime | None:
        """Since when it has held quota."""
        condition = find_condition(self.workload.status.conditions, "QuotaReserved")
        return condition.last_transition_time if condition else None

    @property
    def ends_at(self) -> datetime | None:
        """When Kueue ends it for its maximum execution time."""
        admitted = find_condition(self.workload.status.conditions, "Admitted")
        seconds = self.workload.spec.maximum_execution_time_seconds
        if seconds is None or admitted is None or admitted.last_transition_time is None:
            return None
        return admitted.last_transition_time + timedelta(seconds=seconds)

    @property
    def is_admitted(self) -> bool:
        """Whether it may run."""
        return has_condition(self.workload.status.conditions, "Admitted")

    @property
    def is_finished(self) -> bool:
        """Whether it has finished."""
        return has_condition(self.workload.status.conditions, "Finished")

    @property
    def blocked(self) -> Blocked | None:
        """Why it is not admitted, None when it is."""
        return blocked(self.workload)

    def held(self, flavor: str) -> Decimal:
        """The GPUs of a flavor that it holds."""
        admission = self.workload.status.admission
        amounts = (
            each.resource_usage.get(self.resource)
            for each in (admission.pod_set_assignments if admission else ())
            if each.flavors.get(self.resource) == flavor
        )
        return sum((amount for amount in amounts if amount is not None), _ZERO) / self.per_gpu

    @property
    def _owner(self) -> OwnerReference | None:
        """Its controller, else the first of its owners."""
        if self.root is not None:
            return self.root
        owners = self.workload.metadata.owner_references
        return next((o for o in owners if o.controller), None) or next(iter(owners), None)
