"""Kueue's queues as figures: quota, usage and pending work."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from bot.cluster import labels
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    JOBS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
    is_owned,
)
from bot.cluster.types.objects import OwnerReference, has_condition
from bot.cluster.types.queues import (
    ClusterQueue,
    FlavorUsage,
    LocalQueue,
    ResourceGroup,
    ResourceQuota,
    Workload,
)
from bot.cluster.view import View
from bot.quotas.engines.engine import LATEST, ZERO, CohortQuota, Figures, Queue, QueueBacklog
from bot.quotas.engines.kueue.wording import WORDS
from bot.quotas.engines.kueue.workloads import KueueItem
from bot.quotas.engines.nodes import allocatable


class KueueQueues:
    """Reads one cluster's queue objects from its view; never its pods.

    `per_gpu` is how much of the resource is one GPU; all figures are in GPUs.
    """

    words = WORDS

    def __init__(self, view: View, resource: str, per_gpu: int = 1) -> None:
        self.view = view
        self.resource = resource
        self.per_gpu = per_gpu
        self._waiting: tuple[object, object, Mapping[str, QueueBacklog]] = (None, None, {})
        self._admitted: tuple[object, Mapping[str, Sequence[KueueItem]]] = (None, {})
        self._members: tuple[object, object, Mapping[str, Sequence[ClusterQueue]]] = (
            None,
            None,
            {},
        )
        self._told: dict[str, tuple[ClusterQueue, object, Queue]] = {}
        self._within: dict[tuple[str, str], tuple[object, object, Sequence[Workload]]] = {}

    def behind(self, namespace: str, queue_name: str) -> Queue | None:
        """The ClusterQueue that a LocalQueue points to, None if not found."""
        local = self.view.get(LOCAL_QUEUES, queue_name, namespace)
        return self.named(local.spec.cluster_queue) if local else None

    def named(self, queue: str) -> Queue | None:
        """A ClusterQueue, None if not found."""
        found = self.view.get(CLUSTER_QUEUES, queue)
        return self._queue_of(found) if found else None

    def figures(self) -> tuple[Figures, ...]:
        """Every ClusterQueue with each of its flavors."""
        return tuple(
            each for queue in self.view.all(CLUSTER_QUEUES) for each in self._figures_of(queue)
        )

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """The figures of all queues that share the flavor with this one, itself included."""
        if not figures.cohort:
            return (figures,)
        root = self._root(figures.cohort)
        queues = self._all_members().get(root, ())
        of_queues = (each for queue in queues for each in self._figures_of(queue))
        of_cohorts = (each for each in self._of_cohorts() if self._root(each.cohort) == root)
        return tuple(each for each in (*of_queues, *of_cohorts) if each.flavor == figures.flavor)

    def waiting(self, queue: str) -> QueueBacklog | None:
        """What waits in a ClusterQueue; None while workloads were not read."""
        if not self.view.store(WORKLOADS).synced:
            return None
        return self._all_waiting().get(queue, QueueBacklog())

    def admitted(self, queue: str) -> Sequence[KueueItem]:
        """The workloads that hold quota of a ClusterQueue."""
        workloads = self.view.all(WORKLOADS)
        seen, known = self._admitted
        if workloads is not seen:
            known = _admitted(map(self._item, workloads))
            self._admitted = (workloads, known)
        return known.get(queue, ())

    def within(self, namespace: str, queue_name: str, besides: frozenset[str]) -> list[KueueItem]:
        """The unfinished workloads in a LocalQueue, except those of these owners."""
        workloads = self.view.all(WORKLOADS, namespace)
        seen, besides_seen, found = self._within.get((namespace, queue_name), (None, None, ()))
        if seen is not workloads or besides_seen is not besides:
            found = [
                each
                for each in workloads
                if each.spec.queue_name == queue_name
                and not is_owned(each, besides)
                and not has_condition(each.status.conditions, "Finished")
            ]
            self._within[namespace, queue_name] = (workloads, besides, found)
        items = [self._item(each) for each in found]
        return [each for each in items if each.root is None or each.root.uid not in besides]

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of the ready nodes that a flavor selects; None while unknown."""
        found = self.view.get(RESOURCE_FLAVORS, flavor)
        if found is None:
            return None
        wanted = found.spec.node_labels.items()
        amount = allocatable(self.view, self.resource, lambda node: wanted <= node.labels.items())
        return self._gpus(amount)

    @property
    def age_seconds(self) -> float:
        """The age of what is known of ClusterQueues; infinite before they were read."""
        return self.view.age_seconds(CLUSTER_QUEUES)

    @property
    def work_age_seconds(self) -> float:
        """The age of what is known of Workloads."""
        return self.view.age_seconds(WORKLOADS)

    @property
    def is_absent(self) -> bool:
        """Whether the cluster is known not to serve Kueue."""
        return self.view.store(CLUSTER_QUEUES).absent

    def _figures_of(self, queue: ClusterQueue) -> tuple[Figures, ...]:
        return self._queue_of(queue).figures

    def _queue_of(self, queue: ClusterQueue) -> Queue:
        """Computed once for each state of a queue; every submission needs it several times."""
        told, cohorts = self._told.get(queue.name), self.view.all(COHORTS)
        if told is not None and told[0] is queue and told[1] is cohorts:
            return told[2]
        groups = queue.spec.resource_groups
        found = Queue(
            name=queue.name,
            figures=tuple(
                self._figures(queue, flavor, quota)
                for flavor, quota in quotas_in(groups, self.resource)
            ),
            is_judged=bool(queue.status.conditions or queue.status.flavors_usage),
            covered=frozenset(name for group in groups for name in group.covered_resources),
        )
        self._told[queue.name] = (queue, cohorts, found)
        return found

    def _figures(self, queue: ClusterQueue, flavor: str, quota: ResourceQuota) -> Figures:
        used = _usage(queue.status.flavors_usage, flavor, self.resource)
        reserved = _usage(queue.status.flavors_reservation, flavor, self.resource) or used
        return Figures(
            queue=queue.name,
            cohort=queue.spec.cohort,
            flavor=flavor,
            nominal=quota.nominal_quota / self.per_gpu,
            borrowing_limit=self._gpus(quota.borrowing_limit),
            lending_limit=self._gpus(quota.lending_limit),
            used=self._gpus(used[0]) if used else None,
            reserved=self._gpus(reserved[0]) if reserved else None,
            borrowed=self._gpus(reserved[1]) if reserved else None,
            reclaims=queue.spec.preemption.reclaim_within_cohort != "Never",
            above=self._above(queue.spec.cohort, flavor),
        )

    def _of_cohorts(self) -> Iterator[Figures]:
        """The cohorts' own quotas, which queues use only by borrowing."""
        for cohort in self.view.all(COHORTS):
            for flavor, quota in quotas_in(cohort.spec.resource_groups, self.resource):
                yield Figures(
                    queue="",
                    cohort=cohort.name,
                    flavor=flavor,
                    nominal=quota.nominal_quota / self.per_gpu,
                    borrowing_limit=None,
                    lending_limit=None,
                    used=ZERO,
                    reserved=ZERO,
                    borrowed=ZERO,
                    reclaims=False,
                    above=self._above(cohort.name, flavor),
                    is_cohort=True,
                )

    def _above(self, cohort: str, flavor: str) -> tuple[CohortQuota, ...]:
        """A cohort and those above it, with what they have of a flavor."""
        found: dict[str, CohortQuota] = {}
        while cohort and cohort not in found:
            seen = self.view.get(COHORTS, cohort)
            groups = seen.spec.resource_groups if seen else ()
            quotas = dict(quotas_in(groups, self.resource))
            found[cohort] = self._cohort_quota(cohort, quotas.get(flavor))
            cohort = seen.spec.parent if seen else ""
        return tuple(found.values())

    def _cohort_quota(self, name: str, quota: ResourceQuota | None) -> CohortQuota:
        if quota is None:
            return CohortQuota(name)
        return CohortQuota(
            name,
            quota.nominal_quota / self.per_gpu,
            self._gpus(quota.borrowing_limit),
            self._gpus(quota.lending_limit),
        )

    def _item(self, workload: Workload) -> KueueItem:
        return KueueItem(workload, self.resource, self.per_gpu, self._of_group(workload))

    def _of_group(self, workload: Workload) -> OwnerReference | None:
        """The Job that is called as its group of pods, for the Workload of one."""
        if workload.job_uid or not any(o.kind == "Pod" for o in workload.metadata.owner_references):
            return None
        job = self.view.get(JOBS, workload.name, workload.namespace)
        if job is None or job.labels.get(labels.POD_GROUP) != workload.name:
            return None
        return OwnerReference(kind="Job", name=job.name, uid=job.uid)

    def _gpus(self, amount: Decimal | None) -> Decimal | None:
        return None if amount is None else amount / self.per_gpu

    def _root(self, cohort: str) -> str:
        if self.view.get(COHORTS, cohort) is None:
            return cohort
        seen = {cohort}
        while (found := self.view.get(COHORTS, cohort)) and found.spec.parent not in {"", *seen}:
            cohort = found.spec.parent
            seen.add(cohort)
        return cohort

    def _all_members(self) -> Mapping[str, Sequence[ClusterQueue]]:
        """The queues by the cohort at the top; found once for each state of the view."""
        queues, cohorts = self.view.all(CLUSTER_QUEUES), self.view.all(COHORTS)
        seen_queues, seen_cohorts, known = self._members
        if queues is not seen_queues or cohorts is not seen_cohorts:
            found: dict[str, list[ClusterQueue]] = defaultdict(list)
            for queue in queues:
                if queue.spec.cohort:
                    found[self._root(queue.spec.cohort)].append(queue)
            known = dict(found)
            self._members = (queues, cohorts, known)
        return known

    def _all_waiting(self) -> Mapping[str, QueueBacklog]:
        """Computed once for each state of the view, because there may be thousands."""
        workloads, locals_ = self.view.all(WORKLOADS), self.view.all(LOCAL_QUEUES)
        seen_workloads, seen_locals, known = self._waiting
        if workloads is not seen_workloads or locals_ is not seen_locals:
            known = _by_queue(map(self._item, filter(is_waiting, workloads)), locals_)
            self._waiting = (workloads, locals_, known)
        return known


def quotas_in(groups: Sequence[ResourceGroup], resource: str) -> list[tuple[str, ResourceQuota]]:
    """The flavors among resource groups that have the resource, and their quotas."""
    return [
        (flavor.name, quota)
        for group in groups
        for flavor in group.flavors
        for quota in flavor.resources
        if quota.name == resource
    ]


def is_waiting(workload: Workload) -> bool:
    """Whether a workload waits in its queue."""
    conditions = workload.status.conditions
    return (
        workload.spec.active
        and not has_condition(conditions, "QuotaReserved")
        and not has_condition(conditions, "Finished")
    )


def _admitted(items: Iterable[KueueItem]) -> Mapping[str, Sequence[KueueItem]]:
    found: dict[str, list[KueueItem]] = defaultdict(list)
    for item in items:
        admission = item.workload.status.admission
        if admission and not item.is_finished:
            found[admission.cluster_queue].append(item)
    return dict(found)


def _usage(
    usages: Sequence[FlavorUsage], flavor: str, resource: str
) -> tuple[Decimal, Decimal] | None:
    for usage in usages:
        if usage.name == flavor:
            for each in usage.resources:
                if each.name == resource:
                    return each.total, each.borrowed
    return None


def _by_queue(
    waiting: Iterable[KueueItem], locals_: Sequence[LocalQueue]
) -> Mapping[str, QueueBacklog]:
    queues = {(local.namespace, local.name): local.spec.cluster_queue for local in locals_}
    found: dict[str, list[KueueItem]] = defaultdict(list)
    for item in waiting:
        found[queues.get((item.namespace, item.queue), "")].append(item)
    return {queue: _in_order(items) for queue, items in found.items()}


def _in_order(items: list[KueueItem]) -> QueueBacklog:
    items.sort(key=lambda each: (-each.priority, each.created_at or LATEST))
    return QueueBacklog(tuple(items), sum((each.gpus for each in items), ZERO))
