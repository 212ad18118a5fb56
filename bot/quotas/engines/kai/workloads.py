"""KAI's PodGroups as items of a queue, and what they wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from bot.cluster.types.kai import PodGroup, SchedulingCondition
from bot.cluster.types.objects import OwnerReference
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked, Cause

_ZERO: Final = Decimal(0)
_TOOK = "KAI reclaimed its GPUs for other work by deleting its pods."
_REASONS = {
    "NonPreemptibleOverQuota": Cause.NOT_PREEMPTIBLE,
    "OverLimit": Cause.LIMIT,
    "QueueDoesNotExist": Cause.QUEUE,
    "PreemptionDelayNotElapsed": Cause.DELAY,
}


@dataclass(frozen=True, slots=True)
class KaiItem:
    """One PodGroup; `resource` counts as a GPU, `priority` is the value of its class."""

    group: PodGroup
    resource: str
    priority: int = 0

    @property
    def own_name(self) -> str:
        """The PodGroup's name."""
        return self.group.name

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.group.namespace

    @property
    def name(self) -> str:
        """The name of what the PodGroup stands for."""
        owner = self._owner
        return owner.name if owner else self.group.name

    @property
    def kind(self) -> str:
        """The kind of what it stands for."""
        owner = self._owner
        return owner.kind if owner else "PodGroup"

    @property
    def uid(self) -> str:
        """The uid of what it stands for."""
        owner = self._owner
        return owner.uid if owner else self.group.uid

    @property
    def owner_uids(self) -> tuple[str, ...]:
        """The uids of all that own the PodGroup."""
        return tuple(owner.uid for owner in self.group.metadata.owner_references)

    @property
    def labels(self) -> Mapping[str, str]:
        """The PodGroup's labels, which are those of what it stands for."""
        return self.group.labels

    @property
    def queue(self) -> str:
        """The Queue it names."""
        return self.group.spec.queue

    @property
    def gpus(self) -> Decimal:
        """The GPUs that its living pods want in all."""
        return self.group.status.resources_status.requested.get(self.resource, _ZERO)

    @property
    def created_at(self) -> datetime | None:
        """When it was created."""
        return self.group.metadata.creation_timestamp

    @property
    def reserved_at(self) -> datetime | None:
        """When its pods started."""
        return self.group.started_at

    @property
    def ends_at(self) -> datetime | None:
        """KAI ends nothing for its age."""
        return None

    @property
    def is_admitted(self) -> bool:
        """Whether its pods are placed on nodes."""
        return bool(self.group.status.resources_status.allocated)

    @property
    def is_finished(self) -> bool:
        """Whether it ran, and neither has pods nor was evicted."""
        return self.is_idle and not was_evicted(self.group)

    @property
    def is_idle(self) -> bool:
        """Whether it ran, and has no pods at present."""
        resources = self.group.status.resources_status
        has_pods = resources.requested or resources.allocated
        return self.group.started_at is not None and not has_pods

    @property
    def blocked(self) -> Blocked | None:
        """Why its pods are not placed, None if they are."""
        return blocked(self.group)

    def held(self, flavor: str) -> Decimal:
        """The GPUs that it holds; a PodGroup is in one node pool only."""
        del flavor
        return self.group.status.resources_status.allocated.get(self.resource, _ZERO)

    @property
    def _owner(self) -> OwnerReference | None:
        return next(iter(self.group.metadata.owner_references), None)


def was_evicted(group: PodGroup) -> bool:
    """Whether it was evicted and has not started since."""
    evicted, started = group.evicted_at, group.started_at
    return evicted is not None and (started is None or evicted >= started)


def blocked(group: PodGroup) -> Blocked | None:
    """Why a PodGroup's pods are not placed; None if they are."""
    if group.status.resources_status.allocated:
        return None
    condition = _unplaced(group.status.scheduling_conditions)
    if condition is None:
        return Blocked(Cause.NOT_LOOKED_AT)
    told = condition.reasons[-1] if condition.reasons else None
    said = " ".join((told.message if told and told.message else condition.message).split())
    return Blocked(_REASONS.get(told.reason if told else "", Cause.QUOTA), said)


def standing_of(groups: Sequence[PodGroup]) -> AdmissionState | None:
    """The state of a run by all its PodGroups; older versions create one per pod."""
    found = [_admission(each) for each in groups]
    waiting = (each for each in found if each.phase is not AdmissionPhase.ADMITTED)
    return next(waiting, None) or next(iter(found), None)


def _admission(group: PodGroup) -> AdmissionState:
    why = blocked(group)
    if why is None:
        return AdmissionState(group.name, AdmissionPhase.ADMITTED, since=group.started_at)
    if was_evicted(group):
        return AdmissionState(
            group.name, AdmissionPhase.PREEMPTED, _TOOK, since=group.evicted_at, blocked=why
        )
    return AdmissionState(group.name, AdmissionPhase.WAITING, blocked=why)


def _unplaced(conditions: Sequence[SchedulingCondition]) -> SchedulingCondition | None:
    """The newest condition that says so."""
    found = (
        each
        for each in reversed(conditions)
        if each.type == "UnschedulableOnNodePool" and each.status == "True"
    )
    return next(found, None)
