"""What Kubernetes alone does with runs: they start as soon as nodes have capacity."""

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from bot.cluster import labels
from bot.cluster.resources import PODS, SYSTEM_PRIORITIES, Resource
from bot.cluster.types.objects import ClusterObject, Pod, find_condition
from bot.cluster.view import View
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked, Cause
from bot.quotas.engines.engine import Demand, Manifest, Placement, Queue, QueueingSpec
from bot.quotas.engines.manifests import started_at_once, templates
from bot.quotas.engines.none.queues import PlainQueues
from bot.quotas.engines.priorities import refuse_priority

# How the scheduler says that nodes would fit if they had free capacity.
_NO_ROOM = re.compile(r"Insufficient |Too many pods")


class PlainRuns:
    """What one cluster's scheduler does with runs."""

    def __init__(self, view: View, queues: PlainQueues) -> None:
        self._view = view
        self._queues = queues

    def apply_queueing(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest, not suspended, its pods with the priority."""
        queued = deepcopy(manifest)
        started_at_once(queued)
        if queueing.priority:
            for template in templates(queued["spec"]):
                template["spec"]["priorityClassName"] = queueing.priority
        return queued

    def apply_beside(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest as it is."""
        del queueing
        return manifest

    def refuse(self, demand: Demand) -> None:
        """Raises UsageError for a priority class that the cluster does not have."""
        if self._view.store(SYSTEM_PRIORITIES).synced:
            known = (each.name for each in self._view.all(SYSTEM_PRIORITIES))
            refuse_priority(demand.priority, (n for n in known if not n.startswith("system-")))

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """Nothing: GPUs are of any type here."""
        del queue, gpu_type
        return Placement()

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """The sentence that the namespace may never have as many GPUs."""
        queue = self._queues.behind(demand.namespace, demand.queue)
        allowed = [each.nominal for each in queue.figures] if queue else []
        if not allowed or demand.gpus <= allowed[0]:
            return ()
        sentence = (
            f"A ResourceQuota limits namespace {demand.namespace} to {allowed[0]:f} GPUs in total,"
            " so not all pods of this run can be created until a platform admin raises it."
        )
        return (sentence,)

    def unmanaged(self, resource: Resource[Any], root: ClusterObject) -> str:
        """Nothing: no engine manages it."""
        del resource, root
        return ""

    def left_out(self, root: ClusterObject, pods: Sequence[Pod]) -> str:
        """Nothing: no engine manages them."""
        del root, pods
        return ""

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """Nothing: no engine manages it."""
        del root, manifest, namespace
        return ""

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """Nothing: no engine counts its pods."""
        del resource, root
        return ""

    def admission(self, root: ClusterObject) -> AdmissionState | None:
        """The state of a run's object: it waits while no node has capacity for its pods."""
        pods = self._view.labelled(PODS, labels.RUN, root.labels.get(labels.RUN, ""))
        blocked = None if any(pod.spec.node_name for pod in pods) else _blocked(pods)
        if blocked is None:
            return AdmissionState(root.name, AdmissionPhase.ADMITTED)
        return AdmissionState(root.name, AdmissionPhase.WAITING, blocked=blocked)

    def live_admission(self, root: ClusterObject) -> AdmissionState | None:
        """The same: there is no engine to manage it."""
        return self.admission(root)

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """Empty: the scheduler does not report the order of pending work."""
        del queue
        return ()


def _blocked(pods: Sequence[Pod]) -> Blocked | None:
    """Why none of them has a node, if for lack of capacity or because not evaluated yet."""
    found = (find_condition(pod.status.conditions, "PodScheduled") for pod in pods)
    said = [each.message for each in found if each is not None and each.status == "False"]
    if not said:
        return Blocked(Cause.NOT_LOOKED_AT)
    full = next((message for message in said if _NO_ROOM.search(message)), None)
    return None if full is None else Blocked(Cause.QUOTA, full)
