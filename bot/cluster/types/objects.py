"""Kubernetes' own objects, reduced to the fields the bot looks at. All are immutable."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from bot.cluster.labels import Known
from bot.cluster.types.quantities import Quantity
from bot.masking import without_mentions


class ObjectPart(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A piece of an object; unknown fields are dropped, absent ones have their default."""


class StatusMessage(ObjectPart, frozen=True, kw_only=True):
    """Text of a server or a program that is safe to show: it mentions no one."""

    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        """Takes what would be a mention out of them."""
        if "<" in self.message or "<" in self.reason:
            msgspec.structs.force_setattr(self, "message", without_mentions(self.message))
            msgspec.structs.force_setattr(self, "reason", without_mentions(self.reason))


class OwnerReference(ObjectPart, frozen=True, kw_only=True):
    """Who an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(ObjectPart, frozen=True, kw_only=True):
    """What every object has."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class PodMeta(ObjectMeta, frozen=True, kw_only=True):
    """What a pod has; of its labels and annotations, often dozens, those that the bot knows."""

    labels: Known = {}
    annotations: Known = {}


class ClusterObject(ObjectPart, frozen=True, kw_only=True):
    """Any object: its metadata, and short ways to what is asked most."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Its namespace, empty when it has none."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """The UID, which differs from that of an earlier object of the same name."""
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.metadata.labels


class Condition(StatusMessage, frozen=True, kw_only=True):
    """What a controller found out about an object, and since when."""

    type: str = ""
    status: str = "Unknown"
    last_transition_time: datetime | None = None

    @property
    def true(self) -> bool:
        """Whether it holds; Unknown does not."""
        return self.status == "True"


def find_condition(conditions: Sequence[Condition], type_: str) -> Condition | None:
    """The condition of that type, whatever its status."""
    for condition in conditions:  # asked of every workload for every list, so without a generator
        if condition.type == type_:
            return condition
    return None


def has_condition(conditions: Sequence[Condition], type_: str) -> bool:
    """Whether the condition of that type is there and true."""
    condition = find_condition(conditions, type_)
    return condition is not None and condition.true


class Requirements(ObjectPart, frozen=True, kw_only=True):
    """What a container asks for: resource name to amount."""

    requests: Mapping[str, Quantity] = {}


class Container(ObjectPart, frozen=True, kw_only=True):
    """A container as its pod wants it."""

    name: str = ""
    resources: Requirements = Requirements()


class SchedulingGate(ObjectPart, frozen=True, kw_only=True):
    """A scheduling gate: the pod is not scheduled until it is removed."""

    name: str = ""


class PodSpec(ObjectPart, frozen=True, kw_only=True):
    """What the pods of a template want."""

    scheduling_gates: tuple[SchedulingGate, ...] = ()
    containers: tuple[Container, ...] = ()

    def requested(self, resource: str) -> Decimal:
        """How much of a resource its containers request together."""
        amounts = (container.resources.requests.get(resource) for container in self.containers)
        return sum((amount for amount in amounts if amount is not None), Decimal(0))


class ClaimSource(ObjectPart, frozen=True, kw_only=True):
    """The PVC behind a volume."""

    claim_name: str = ""


class PodVolume(ObjectPart, frozen=True, kw_only=True):
    """A volume of a pod, if a PVC is behind it."""

    persistent_volume_claim: ClaimSource | None = None


def mounted_claims(volumes: Iterable[PodVolume]) -> frozenset[str]:
    """The names of the PVCs behind the volumes of a pod."""
    sources = (each.persistent_volume_claim for each in volumes)
    return frozenset(source.claim_name for source in sources if source is not None)


class PlacedPodSpec(ObjectPart, frozen=True, kw_only=True):
    """Where a pod is and what it mounts. What it asks for is known from what made it.

    There may be ten thousand: to read the amounts of each would take as long as all the rest.
    """

    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()

    @property
    def claims(self) -> frozenset[str]:
        """The PVCs that it mounts."""
        return mounted_claims(self.volumes)


class PodTemplate(ObjectPart, frozen=True, kw_only=True):
    """The pods that something makes."""

    spec: PodSpec = PodSpec()


class ContainerWaiting(StatusMessage, frozen=True, kw_only=True):
    """Why a container has not started."""


class Running(ObjectPart, frozen=True, kw_only=True):
    """Since when a container runs."""

    started_at: datetime | None = None


class Terminated(StatusMessage, frozen=True, kw_only=True):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(ObjectPart, frozen=True, kw_only=True):
    """One of the three is set, or none while nothing is known."""

    waiting: ContainerWaiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(ObjectPart, frozen=True, kw_only=True):
    """How a container is doing."""

    name: str = ""
    image_id: str = msgspec.field(default="", name="imageID")
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(StatusMessage, frozen=True, kw_only=True):
    """How a pod is doing."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(ClusterObject, frozen=True, kw_only=True):
    """A pod."""

    metadata: PodMeta = PodMeta()
    spec: PlacedPodSpec = PlacedPodSpec()
    status: PodStatus = PodStatus()


class JobSpec(ObjectPart, frozen=True, kw_only=True):
    """What a batch/v1 Job wants."""

    suspend: bool = False
    parallelism: int | None = None
    completions: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    active_deadline_seconds: int | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(ObjectPart, frozen=True, kw_only=True):
    """How far a batch/v1 Job is; `active` counts pods that still wait too, `ready` does not."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class Job(ClusterObject, frozen=True, kw_only=True):
    """A batch/v1 Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class Taint(ObjectPart, frozen=True, kw_only=True):
    """What keeps pods off a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(ObjectPart, frozen=True, kw_only=True):
    """What an administrator said about a node, and which machine it is to its cloud."""

    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(ObjectPart, frozen=True, kw_only=True):
    """What a node has and how it is."""

    allocatable: Mapping[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()


class Node(ClusterObject, frozen=True, kw_only=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
