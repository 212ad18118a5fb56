"""KAI Scheduler's objects, reduced to the fields the bot looks at."""

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.cluster.types.objects import ClusterObject, Condition, ObjectPart, StatusMessage
from bot.cluster.types.quantities import Quantity

LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"


class QueueResource(ObjectPart, frozen=True, kw_only=True):
    """What a queue may use of one resource; -1 is without limit, absent is 0."""

    quota: Quantity | None = None
    limit: Quantity | None = None
    over_quota_weight: Quantity | None = None


class Resources(ObjectPart, frozen=True, kw_only=True):
    """What a queue may use; cpu is in millicores, memory in units of 10^6 bytes."""

    cpu: QueueResource | None = None
    memory: QueueResource | None = None
    gpu: QueueResource | None = None


class QueueSpec(ObjectPart, frozen=True, kw_only=True):
    """What a queue may use, and which one it is part of."""

    display_name: str = ""
    parent_queue: str = ""
    priority: int | None = None
    resources: Resources | None = None


class QueueStatus(ObjectPart, frozen=True, kw_only=True):
    """What a queue and those below it use; a resource of which nothing is used is absent."""

    child_queues: tuple[str, ...] = ()
    allocated: Mapping[str, Quantity] = {}
    allocated_non_preemptible: Mapping[str, Quantity] = {}
    requested: Mapping[str, Quantity] = {}


class Queue(ClusterObject, frozen=True, kw_only=True):
    """A queue; `status` is None until KAI has looked at it."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus | None = None


class Reason(StatusMessage, frozen=True, kw_only=True):
    """One reason why pods cannot be placed, in a word and in a sentence."""


class SchedulingCondition(StatusMessage, frozen=True, kw_only=True):
    """How an attempt to place a PodGroup's pods went; `reasons` came later than `message`."""

    type: str = ""
    status: str = ""
    node_pool: str = ""
    last_transition_time: datetime | None = None
    reasons: tuple[Reason, ...] = ()


class PodGroupResources(ObjectPart, frozen=True, kw_only=True):
    """What the living pods of a PodGroup hold, and what they want with that included."""

    allocated: Mapping[str, Quantity] = {}
    allocated_non_preemptible: Mapping[str, Quantity] = {}
    requested: Mapping[str, Quantity] = {}


class PodGroupStatus(ObjectPart, frozen=True, kw_only=True):
    """How a PodGroup stands; it has no scheduling condition once its pods have their places."""

    resources_status: PodGroupResources = PodGroupResources()
    scheduling_conditions: tuple[SchedulingCondition, ...] = ()
    conditions: tuple[Condition, ...] = ()


class PodGroupSpec(ObjectPart, frozen=True, kw_only=True):
    """What a PodGroup queues for."""

    queue: str = ""
    min_member: int | None = None
    priority_class_name: str = ""
    preemptibility: str = ""


class PodGroup(ClusterObject, frozen=True, kw_only=True):
    """What KAI places together: one for each Job, or other kind, whose pods name KAI."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def started_at(self) -> datetime | None:
        """When its pods ran last, None when they never did or are pushed out."""
        return _moment(self.metadata.annotations.get(LAST_START))

    @property
    def evicted_at(self) -> datetime | None:
        """When it was pushed out last."""
        return _moment(self.metadata.annotations.get(LAST_EVICTION))


class PriorityClass(ClusterObject, frozen=True, kw_only=True):
    """Kubernetes' own priority class, which KAI goes by; the higher value goes first."""

    value: int = 0
    description: str = ""


def _moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
