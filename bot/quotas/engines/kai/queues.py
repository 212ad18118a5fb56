"""KAI's Queues as figures: quota, usage and pending work."""

from collections.abc import Iterator
from decimal import Decimal

from bot.cluster.resources import KAI_QUEUES, POD_GROUPS, SYSTEM_PRIORITIES, is_owned
from bot.cluster.types.kai import PodGroup, QueueResource
from bot.cluster.types.kai import Queue as KaiQueue
from bot.cluster.types.objects import Node
from bot.cluster.view import View
from bot.quotas.engines.engine import LATEST, ZERO, Figures, Queue, QueueBacklog
from bot.quotas.engines.kai.wording import WORDS
from bot.quotas.engines.kai.workloads import KaiItem
from bot.quotas.engines.nodes import allocatable, beyond_quotas

NODE_POOL = "kai.scheduler/node-pool"
DEFAULT_POOL = "default"
# What KAI gives a PodGroup whose priority class does not exist.
_USUAL_PRIORITY = 50
_NO_LIMIT = -1


class KaiQueues:
    """Reads one cluster's queue objects from its view; never its pods.

    A node pool corresponds to a flavor of Kueue. A team's Queue is the one its setting names; in
    other node pools its name has the pool's name as a suffix, as KAI itself expects.
    """

    words = WORDS

    def __init__(self, view: View, resource: str) -> None:
        self.view = view
        self.resource = resource

    def behind(self, namespace: str, queue_name: str) -> Queue | None:
        """The Queue that runs name, None if not found."""
        del namespace
        return self.named(queue_name)

    def named(self, queue: str) -> Queue | None:
        """A Queue in all its node pools, None if not found."""
        found = [each for each in self.view.all(KAI_QUEUES) if _is_of(queue, each)]
        if not found:
            return None
        return Queue(name=queue, figures=tuple(self._figures(each) for each in found))

    def figures(self) -> tuple[Figures, ...]:
        """The figures of every Queue that accepts runs."""
        return tuple(self._figures(each) for each in self._leaves())

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """All Queues of the node pool, and what its nodes have beyond all quotas.

        Together they have free what is not in use, within the limits of the Queues above.
        """
        members = tuple(each for each in self.figures() if each.flavor == figures.flavor)
        return (*members, beyond_quotas(figures, members, self._free(figures, members)))

    def waiting(self, queue: str) -> QueueBacklog | None:
        """What waits in a Queue, by priority and age; None while PodGroups were not read."""
        if not self.view.store(POD_GROUPS).synced:
            return None
        found = [
            each for each in self._items(queue) if each.blocked is not None and not each.is_idle
        ]
        found.sort(key=lambda each: (-each.priority, each.created_at or LATEST))
        return QueueBacklog(tuple(found), sum((each.gpus for each in found), ZERO))

    def admitted(self, queue: str) -> list[KaiItem]:
        """The PodGroups that hold GPUs of a Queue."""
        return [each for each in self._items(queue) if each.is_admitted]

    def within(self, namespace: str, queue_name: str, besides: frozenset[str]) -> list[KaiItem]:
        """The unfinished PodGroups in a team's Queues, except those of these owners."""
        names = {each.name for each in self.view.all(KAI_QUEUES) if _is_of(queue_name, each)} | {
            queue_name
        }
        return [
            item
            for group in self.view.all(POD_GROUPS, namespace)
            if group.spec.queue in names and not is_owned(group, besides)
            for item in (self._item(group),)
            if not item.is_finished
        ]

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of the ready nodes of a node pool; None while unknown."""
        return allocatable(self.view, self.resource, lambda node: node_pool(node) == flavor)

    @property
    def age_seconds(self) -> float:
        """The age of what is known of Queues; infinite before they were read."""
        return self.view.age_seconds(KAI_QUEUES)

    @property
    def work_age_seconds(self) -> float:
        """The age of what is known of PodGroups."""
        return self.view.age_seconds(POD_GROUPS)

    @property
    def is_absent(self) -> bool:
        """Whether the cluster is known not to serve KAI."""
        return self.view.store(KAI_QUEUES).absent

    def _figures(self, queue: KaiQueue) -> Figures:
        share = gpu_share(queue)
        flavor = node_pool(queue)
        is_unlimited = share.quota == _NO_LIMIT
        nominal = (self.allocatable(flavor) or ZERO) if is_unlimited else quota_of(share)
        used = queue.status.allocated.get(self.resource, ZERO) if queue.status else None
        return Figures(
            queue=queue.name,
            cohort=self._above(queue)[-1].name if self._above(queue) else queue.name,
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

    def _free(self, own: Figures, members: tuple[Figures, ...]) -> Decimal | None:
        """What the Queue could still use of its node pool; None if a figure is unknown."""
        there = self.allocatable(own.flavor)
        used = [each.reserved for each in members if each.reserved is not None]
        if there is None or len(used) < len(members):
            return None
        free = there - sum(used, ZERO)
        queue = self.view.get(KAI_QUEUES, own.queue)
        for each in self._above(queue) if queue else ():
            limit = gpu_share(each).limit or ZERO
            if limit > 0 and each.status is not None:
                free = min(free, limit - each.status.allocated.get(self.resource, ZERO))
        return free

    def _leaves(self) -> Iterator[KaiQueue]:
        queues = self.view.all(KAI_QUEUES)
        parents = {each.spec.parent_queue for each in queues}
        return (each for each in queues if each.spec.parent_queue and each.name not in parents)

    def _above(self, queue: KaiQueue) -> list[KaiQueue]:
        """The Queues above one, up to the top."""
        found: list[KaiQueue] = []
        seen = {queue.name}
        while (parent := self.view.get(KAI_QUEUES, queue.spec.parent_queue)) is not None:
            if parent.name in seen:
                break
            seen.add(parent.name)
            found.append(parent)
            queue = parent
        return found

    def _items(self, queue: str) -> list[KaiItem]:
        return [self._item(each) for each in self.view.all(POD_GROUPS) if each.spec.queue == queue]

    def _item(self, group: PodGroup) -> KaiItem:
        found = self.view.get(SYSTEM_PRIORITIES, group.spec.priority_class_name)
        return KaiItem(group, self.resource, found.value if found else _USUAL_PRIORITY)


def gpu_share(queue: KaiQueue) -> QueueResource:
    """What a Queue may use of GPUs."""
    resources = queue.spec.resources
    return (resources.gpu if resources else None) or QueueResource()


def quota_of(share: QueueResource) -> Decimal:
    """The quota of a Queue that has a limit; one that is not set is 0."""
    return Decimal(share.quota or 0)


def borrowing_limit(share: QueueResource) -> Decimal | None:
    """What may be used beyond the quota: None for any amount, nothing where no limit is set."""
    if share.limit == _NO_LIMIT:
        return None
    return max(ZERO, Decimal(share.limit or 0) - quota_of(share))


def node_pool(object_: KaiQueue | Node) -> str:
    """The node pool that a Queue or a node is in."""
    return object_.labels.get(NODE_POOL, DEFAULT_POOL)


def _is_of(name: str, queue: KaiQueue) -> bool:
    return queue.name in {name, f"{name}-{queue.labels.get(NODE_POOL)}"}
