"""What KAI does with runs: how their manifests are queued, and their state."""

from collections.abc import Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import KAI_QUEUES, POD_GROUPS, SYSTEM_PRIORITIES, Resource
from bot.cluster.types.kai import PodGroup
from bot.cluster.types.kai import Queue as KaiQueue
from bot.cluster.types.objects import ClusterObject, Pod
from bot.errors import ClusterError, ConflictError
from bot.quotas.engines.admission import AdmissionState
from bot.quotas.engines.engine import Demand, Manifest, Placement, Queue, QueueingSpec
from bot.quotas.engines.kai.queues import DEFAULT_POOL, NODE_POOL, KaiQueues, node_pool
from bot.quotas.engines.kai.workloads import standing_of
from bot.quotas.engines.manifests import (
    placed_together,
    scheduled_by,
    shared_gpu,
    started_at_once,
    templates,
    tolerant_of_evictions,
)
from bot.quotas.engines.priorities import refuse_priority

QUEUE = "kai.scheduler/queue"
PRIORITY = "priorityClassName"
SCHEDULER = "kai-scheduler"
# KAI never preempts workloads of this priority or more, nor lets them exceed the quota.
_NOT_PREEMPTIBLE = 100


class KaiRuns:
    """What one cluster's KAI does with runs."""

    def __init__(self, cluster: Cluster, queues: KaiQueues) -> None:
        self._cluster = cluster
        self._queues = queues

    def apply_queueing(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest with its Queue and scheduler, not suspended, and tolerant of evictions."""
        queued = deepcopy(manifest)
        marks = {QUEUE: queueing.queue, **self._pool_of(queueing.queue)} | (
            {PRIORITY: queueing.priority} if queueing.priority else {}
        )
        queued["metadata"]["labels"] |= marks
        placed_together(queued, queueing)
        started_at_once(queued)
        for template in templates(queued["spec"]):
            scheduled_by(SCHEDULER, template, marks)
            shared_gpu(template, queueing.gpus, self._queues.resource)
        tolerant_of_evictions(queued, queueing.pods)
        return queued

    def apply_beside(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest as it is."""
        del queueing
        return manifest

    def refuse(self, demand: Demand) -> None:
        """Raises UsageError or ConflictError if KAI is known never to start such a run."""
        view = self._cluster.view
        if view.store(SYSTEM_PRIORITIES).synced:
            known = (each.name for each in view.all(SYSTEM_PRIORITIES))
            refuse_priority(demand.priority, (n for n in known if not n.startswith("system-")))
        if not view.store(KAI_QUEUES).synced:
            return
        queue = view.get(KAI_QUEUES, demand.queue)
        if queue is None:
            raise ConflictError(
                f"KAI has no Queue {demand.queue}.",
                "A platform admin has to create it or correct `queue` in quartermaster.yaml.",
            )
        self._refuse_unusable(queue)

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """The node pool's label, for the run and its nodes, and the Queue of that pool."""
        found = queue.of(gpu_type)
        pool = {} if gpu_type == DEFAULT_POOL else {NODE_POOL: gpu_type}
        return Placement(found.queue if found else "", pool, pool)

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """What the priority means for a run that requests more than its Queue's quota."""
        found = self._cluster.view.get(SYSTEM_PRIORITIES, demand.priority or "")
        queue = self._queues.behind(demand.namespace, demand.queue)
        if found is None or found.value < _NOT_PREEMPTIBLE or queue is None:
            return ()
        most = max((each.nominal for each in queue.figures), default=Decimal(0))
        if demand.gpus <= most:
            return ()
        sentence = (
            f"With --priority {found.name} the run is never preempted, so it may use no more than"
            f" the quota of its Queue, {most:f} GPUs. Without that priority, it may borrow."
        )
        return (sentence,)

    def unmanaged(self, resource: Resource[Any], root: ClusterObject) -> str:
        """The sentence that KAI did not manage a run's object, and what to do about it."""
        del root
        kind = resource.kind
        return (
            f"KAI created no PodGroup for the {kind} within 30 s, so the {kind} was deleted"
            " before it could start. A platform admin has to check KAI's podgrouper."
        )

    def left_out(self, root: ClusterObject, pods: Sequence[Pod]) -> str:
        """Nothing: KAI has no groups of pods of several objects."""
        del root, pods
        return ""

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """Nothing: KAI manages everything that names its scheduler."""
        del root, manifest, namespace
        return ""

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """Nothing: KAI schedules each pod that exists."""
        del resource, root
        return ""

    def admission(self, root: ClusterObject) -> AdmissionState | None:
        """The state of a run's object, by its PodGroups in the view."""
        view = self._cluster.view
        found = view.owned_by(POD_GROUPS, root.uid) or _of_run(
            view.labelled(POD_GROUPS, labels.RUN, root.labels.get(labels.RUN, "")), root
        )
        return standing_of(found)

    def live_admission(self, root: ClusterObject) -> AdmissionState | None:
        """The same, read from the cluster; None if KAI is not served."""
        try:
            groups = self._cluster.list(POD_GROUPS, root.namespace)
        except ClusterError as error:
            if error.reason == "NotServed":
                return None
            raise
        owned = [
            each
            for each in groups
            if any(owner.uid == root.uid for owner in each.metadata.owner_references)
        ]
        return standing_of(owned or _of_run(groups, root))

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """Empty: KAI does not report the order of pending work."""
        del queue
        return ()

    def _pool_of(self, queue: str) -> dict[str, str]:
        """The label of the Queue's node pool; KAI takes runs without one for the default pool."""
        found = self._cluster.view.get(KAI_QUEUES, queue)
        pool = node_pool(found) if found is not None else DEFAULT_POOL
        return {} if pool == DEFAULT_POOL else {NODE_POOL: pool}

    def _refuse_unusable(self, queue: KaiQueue) -> None:
        view, name = self._cluster.view, queue.name
        if any(each.spec.parent_queue == name for each in view.all(KAI_QUEUES)):
            raise ConflictError(
                f"KAI's Queue {name} has child Queues, and only those accept runs.",
                "A platform admin has to set `queue` in quartermaster.yaml to one of them.",
            )
        missing = _lack_of_parent(queue, view.get(KAI_QUEUES, queue.spec.parent_queue))
        if missing:
            raise ConflictError(
                f"KAI never starts anything in Queue {name}: {missing}.",
                "A platform admin has to set the Queue's parentQueue to an existing Queue of its"
                " node pool.",
            )


def _lack_of_parent(queue: KaiQueue, parent: KaiQueue | None) -> str:
    """Why the scheduler of a Queue's node pool ignores it; empty if it does not."""
    name, pool = queue.spec.parent_queue, node_pool(queue)
    if parent is None:
        return f"its parent {name} is missing" if name else "it has no parent"
    return "" if node_pool(parent) == pool else f"its parent {name} is not in node pool {pool}"


def _of_run(groups: Sequence[PodGroup], root: ClusterObject) -> list[PodGroup]:
    """The PodGroups with the label of the root's run, if another object owns them."""
    run = root.labels.get(labels.RUN)
    return [
        each
        for each in groups
        if run and each.labels.get(labels.RUN) == run and each.namespace == root.namespace
    ]
