"""Run:ai's projects, node pools and workloads, reduced to the fields the bot looks at.

Its REST API leaves out what is zero or not set, or returns null for it.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, ObjectMeta, ObjectPart
from bot.masking import without_mentions

GROUP = "run.ai"
READY, UPDATING = "Ready", "Updating"
PENDING, RUNNING = "Pending", "Running"


class NodePoolReference(ObjectPart, frozen=True, kw_only=True):
    """The node pool that an entry is about."""

    id: str = ""
    name: str | None = None


class GpuShare(ObjectPart, frozen=True, kw_only=True):
    """What a project may use of the GPUs of a node pool; a negative limit is none."""

    deserved: Decimal | None = None
    limit: Decimal | None = None
    over_quota_weight: Decimal | None = None


class PoolResources(ObjectPart, frozen=True, kw_only=True):
    """What a project may use of one node pool."""

    node_pool: NodePoolReference | None = None
    gpu: GpuShare | None = None


class Amounts(ObjectPart, frozen=True, kw_only=True):
    """How much of the resources."""

    gpu: Decimal | None = None


class PoolUsage(ObjectPart, frozen=True, kw_only=True):
    """What a project uses of one node pool."""

    node_pool_id: str = ""
    node_pool_name: str | None = None
    allocated: Amounts | None = None


class ProjectStatus(ObjectPart, frozen=True, kw_only=True):
    """What Run:ai has made of a project; phase Ready says that it is usable."""

    namespace: str | None = None
    phase: str | None = None
    phase_message: str | None = None
    node_pool_quota_statuses: tuple[PoolUsage, ...] | None = None

    def __post_init__(self) -> None:
        """Takes what would be a mention out of the message."""
        _hide_mentions(self)


class Parent(ObjectPart, frozen=True, kw_only=True):
    """The department of a project."""

    id: str = ""
    name: str | None = None


class ProjectRecord(ObjectPart, frozen=True, kw_only=True):
    """A project, as the REST API returns it."""

    id: str
    name: str
    cluster_id: str
    description: str | None = None
    requested_namespace: str | None = None
    parent: Parent | None = None
    resources: tuple[PoolResources, ...] | None = None
    status: ProjectStatus | None = None

    def of_pool(self, name: str) -> PoolResources | None:
        """What it may use of a node pool."""
        found = (each for each in self.resources or () if pool_name(each) == name)
        return next(found, None)


class DepartmentRecord(ObjectPart, frozen=True, kw_only=True):
    """A department, which has a quota of its own in each node pool."""

    id: str
    name: str
    cluster_id: str
    resources: tuple[PoolResources, ...] | None = None


class NodePoolRecord(ObjectPart, frozen=True, kw_only=True):
    """A node pool: the nodes with this label; the default pool has those in no other one."""

    id: str
    name: str
    cluster_id: str
    label_key: str | None = None
    label_value: str | None = None
    is_default: bool = False


class GpuRequest(ObjectPart, frozen=True, kw_only=True):
    """The GPUs that all pods of a workload request together."""

    request: Decimal | None = None


class RequestedResources(ObjectPart, frozen=True, kw_only=True):
    """What a workload requests."""

    gpu: GpuRequest | None = None


class WorkloadRecord(ObjectPart, frozen=True, kw_only=True):
    """A workload, whether it was submitted through Run:ai or to Kubernetes."""

    id: str
    name: str
    cluster_id: str
    type: str = ""
    namespace: str = ""
    project_name: str = ""
    phase: str = ""
    phase_reason: str | None = None
    phase_message: str | None = None
    priority: int | None = None
    created_at: datetime | None = None
    workload_requested_resources: RequestedResources | None = None
    allocated_resources: Amounts | None = None
    current_node_pools: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Takes what would be a mention out of the message."""
        _hide_mentions(self)


class Project(ClusterObject, frozen=True, kw_only=True):
    """A project in the view of its cluster; its generation changes with its quotas."""

    record: ProjectRecord


class NodePool(ClusterObject, frozen=True, kw_only=True):
    """A node pool in the view of its cluster."""

    record: NodePoolRecord


class Workload(ClusterObject, frozen=True, kw_only=True):
    """A workload in the view of its cluster."""

    record: WorkloadRecord


PROJECTS = Resource(GROUP, ("v1",), "projects", "Project", Project, namespaced=False)
NODE_POOLS = Resource(GROUP, ("v1",), "nodepools", "NodePool", NodePool, namespaced=False)
RUNAI_WORKLOADS = Resource(GROUP, ("v1",), "workloads", "Workload", Workload)


def projects(records: Sequence[ProjectRecord]) -> list[Project]:
    """Projects for the view."""
    return [Project(metadata=_metadata(each, each.resources), record=each) for each in records]


def node_pools(records: Sequence[NodePoolRecord]) -> list[NodePool]:
    """Node pools for the view."""
    return [NodePool(metadata=_metadata(each), record=each) for each in records]


def workloads(records: Sequence[WorkloadRecord]) -> list[Workload]:
    """Workloads for the view."""
    return [
        Workload(metadata=_metadata(each, space=each.namespace), record=each) for each in records
    ]


def pool_name(resources: PoolResources) -> str:
    """The name of the node pool; its id if Run:ai did not return a name."""
    pool = resources.node_pool
    return (pool.name or pool.id) if pool else ""


def _metadata(
    record: ProjectRecord | NodePoolRecord | WorkloadRecord, wanted: Any = None, space: str = ""
) -> ObjectMeta:
    """Metadata by which the view notices changes: of the record, and of what is wanted."""
    return ObjectMeta(
        name=record.name,
        namespace=space,
        uid=record.id,
        resource_version=_digest(record),
        generation=int(_digest(wanted), 16),
    )


def _hide_mentions(record: ProjectStatus | WorkloadRecord) -> None:
    if "<" in (record.phase_message or ""):
        text = without_mentions(record.phase_message or "")
        msgspec.structs.force_setattr(record, "phase_message", text)


def _digest(part: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(part)).hexdigest()[:12]
