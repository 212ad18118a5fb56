"""Run:ai's projects as figures: quota, usage and pending work."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS
from bot.cluster.types.objects import ClusterObject, Node
from bot.cluster.view import View
from bot.quotas.engines.engine import LATEST, ZERO, Figures, Queue, QueueBacklog
from bot.quotas.engines.nodes import allocatable, beyond_quotas
from bot.quotas.engines.runai.objects import (
    NODE_POOLS,
    PROJECTS,
    RUNAI_WORKLOADS,
    GpuShare,
    NodePoolRecord,
    PoolResources,
    Project,
    WorkloadRecord,
    pool_name,
)
from bot.quotas.engines.runai.wording import WORDS
from bot.quotas.engines.runai.workloads import RunaiItem


class RunaiQueues:
    """Reads one cluster's projects from its view, where they are seconds old.

    A node pool corresponds to a flavor of Kueue; a project has a quota in each.
    """

    words = WORDS

    def __init__(self, cluster: Cluster, resource: str) -> None:
        self.view: View = cluster.view
        self.resource = resource
        self._kinds = dict.fromkeys((JOBS, *cluster.workloads))

    def behind(self, namespace: str, queue_name: str) -> Queue | None:
        """The project that runs name, None if not found."""
        del namespace
        return self.named(queue_name)

    def named(self, queue: str) -> Queue | None:
        """A project with all its node pools, None if not found."""
        project = self.project(queue)
        if project is None:
            return None
        return Queue(name=queue, figures=tuple(self._figures(project)))

    def project(self, name: str) -> Project | None:
        """A project as Run:ai returned it, None if not found."""
        return self.view.get(PROJECTS, name)

    def node_pool(self, name: str) -> NodePoolRecord | None:
        """A node pool, None if not found."""
        found = self.view.get(NODE_POOLS, name)
        return found.record if found else None

    def figures(self) -> tuple[Figures, ...]:
        """The figures of every project in each of its node pools."""
        return tuple(each for found in self.view.all(PROJECTS) for each in self._figures(found))

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """All projects of the node pool, and what its nodes have beyond all quotas.

        Together they have free what is not in use. Limits of departments are not considered.
        """
        members = tuple(each for each in self.figures() if each.flavor == figures.flavor)
        return (*members, beyond_quotas(figures, members, self._free(figures.flavor, members)))

    def waiting(self, queue: str) -> QueueBacklog | None:
        """What waits in a project, by priority and age; None while workloads were not read."""
        if not self.view.store(RUNAI_WORKLOADS).synced:
            return None
        found = [each for each in self._items(queue) if each.blocked is not None]
        found.sort(key=lambda each: (-each.priority, each.created_at or LATEST))
        return QueueBacklog(tuple(found), sum((each.gpus for each in found), ZERO))

    def admitted(self, queue: str) -> list[RunaiItem]:
        """The workloads that hold GPUs of a project."""
        return [each for each in self._items(queue) if each.is_admitted]

    def within(self, namespace: str, queue_name: str, besides: frozenset[str]) -> list[RunaiItem]:
        """The unfinished workloads of a team's project, except those of these objects."""
        return [
            each
            for each in self._items(queue_name)
            if each.namespace == namespace and each.object_uid not in besides
        ]

    def workload(self, namespace: str, name: str) -> WorkloadRecord | None:
        """The workload of an object, None if it neither waits nor runs, or was not read."""
        found = self.view.get(RUNAI_WORKLOADS, name, namespace)
        return found.record if found else None

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of the ready nodes of a node pool; None while unknown."""
        labels = self._pool_labels()
        if flavor not in labels:
            return None
        return allocatable(self.view, self.resource, lambda node: _pool_of(node, labels) == flavor)

    @property
    def age_seconds(self) -> float:
        """The age of what is known of projects; infinite before they were read."""
        return self.view.age_seconds(PROJECTS)

    @property
    def work_age_seconds(self) -> float:
        """The age of what is known of workloads."""
        return self.view.age_seconds(RUNAI_WORKLOADS)

    @property
    def is_absent(self) -> bool:
        """False: whether Run:ai answers, the age of what is known shows."""
        return False

    def _figures(self, project: Project) -> Iterator[Figures]:
        record = project.record
        parent = record.parent.name if record.parent else None
        for resources in record.resources or ():
            share, flavor = resources.gpu or GpuShare(), pool_name(resources)
            is_unlimited = quota_of(share) < 0
            nominal = (self.allocatable(flavor) or ZERO) if is_unlimited else quota_of(share)
            used = _used(project, resources)
            yield Figures(
                queue=project.name,
                cohort=parent or "",
                flavor=flavor,
                nominal=nominal,
                borrowing_limit=borrowing_limit(share),
                lending_limit=None,
                used=used,
                reserved=used,
                borrowed=None if used is None else max(ZERO, used - nominal),
                reclaims=True,
                is_unlimited=is_unlimited,
            )

    def _free(self, flavor: str, members: tuple[Figures, ...]) -> Decimal | None:
        """What of the node pool is not in use; None if a figure is unknown."""
        there = self.allocatable(flavor)
        used = [each.reserved for each in members if each.reserved is not None]
        if there is None or len(used) < len(members):
            return None
        return there - sum(used, ZERO)

    def _pool_labels(self) -> Mapping[str, tuple[str, str] | None]:
        """The label of each node pool's nodes; None for those that are in no other pool."""
        records = (each.record for each in self.view.all(NODE_POOLS))
        return {each.name: label_of(each) for each in records}

    def _items(self, project: str) -> list[RunaiItem]:
        return [
            self._item(each.record)
            for each in self.view.all(RUNAI_WORKLOADS)
            if each.record.project_name == project
        ]

    def _item(self, record: WorkloadRecord) -> RunaiItem:
        found: ClusterObject | None = None
        for kind in self._kinds:
            if kind.kind == record.type and found is None:
                found = self.view.get(kind, record.name, record.namespace)
        if found is None:
            return RunaiItem(record)
        return RunaiItem(record, found.uid, found.labels)


def quota_of(share: GpuShare) -> Decimal:
    """The quota of a project in a node pool; one that is not set is 0."""
    return share.deserved or ZERO


def borrowing_limit(share: GpuShare) -> Decimal | None:
    """What may be used beyond the quota; None for any amount.

    The weight only divides what several projects want: even one of 0 may use what no other does.
    """
    if share.limit is None or share.limit < 0:
        return None
    return max(ZERO, share.limit - quota_of(share))


def label_of(pool: NodePoolRecord) -> tuple[str, str] | None:
    """The label of the nodes of a node pool; None for the default one, which has the rest."""
    if pool.is_default or not pool.label_key:
        return None
    return pool.label_key, pool.label_value or ""


def _pool_of(node: Node, labels: Mapping[str, tuple[str, str] | None]) -> str:
    """The node pool that a node is in; empty if in none."""
    rest = ""
    for name, label in labels.items():
        if label is None:
            rest = name
        elif node.labels.get(label[0]) == label[1]:
            return name
    return rest


def _used(project: Project, resources: PoolResources) -> Decimal | None:
    """The GPUs in use, which are left out if 0; None if Run:ai reports no usage of the pool."""
    status, pool = project.record.status, resources.node_pool
    for each in (status.node_pool_quota_statuses if status else None) or ():
        if pool is not None and each.node_pool_id == pool.id:
            return (each.allocated.gpu if each.allocated else None) or ZERO
    return None
