"""What Run:ai does with runs: how their manifests are queued, and their state.

Runs are objects in the namespace of the project that name Run:ai's scheduler and its project, as
https://run-ai-docs.nvidia.com/self-hosted/platform-management/runai-scheduler/scheduling/default-scheduler
describes for workloads that are submitted to Kubernetes.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from bot.cluster import labels
from bot.cluster.resources import PODS, SYSTEM_PRIORITIES, Resource
from bot.cluster.types.objects import ClusterObject, Pod
from bot.errors import ConflictError
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked
from bot.quotas.engines.engine import Demand, Manifest, Placement, Queue, QueueingSpec
from bot.quotas.engines.manifests import (
    placed_together,
    scheduled_by,
    shared_gpu,
    started_at_once,
    templates,
    tolerant_of_evictions,
)
from bot.quotas.engines.priorities import refuse_priority
from bot.quotas.engines.runai.objects import PROJECTS, READY, UPDATING
from bot.quotas.engines.runai.queues import RunaiQueues, label_of
from bot.quotas.engines.runai.workloads import blocked, blocked_pods

QUEUE = "runai/queue"
PRIORITY = "priorityClassName"
NODE_POOL = "runai/node-pool"
SCHEDULER = "runai-scheduler"


class RunaiRuns:
    """What Run:ai does with the runs of one cluster."""

    def __init__(self, queues: RunaiQueues) -> None:
        self._view = queues.view
        self._queues = queues

    def apply_queueing(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest with its project and scheduler, not suspended, tolerant of evictions."""
        queued = deepcopy(manifest)
        marks = {QUEUE: queueing.queue}
        if queueing.priority:
            marks[PRIORITY] = queueing.priority
        queued["metadata"]["labels"] |= marks
        placed_together(queued, queueing)
        started_at_once(queued)
        for template in templates(queued["spec"]):
            scheduled_by(SCHEDULER, template, marks)
            shared_gpu(template, queueing.gpus, self._queues.resource)
            if queueing.priority:
                template["spec"]["priorityClassName"] = queueing.priority
        tolerant_of_evictions(queued, queueing.pods)
        return queued

    def apply_beside(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest as it is."""
        del queueing
        return manifest

    def refuse(self, demand: Demand) -> None:
        """Raises UsageError or ConflictError if Run:ai is known never to start such a run."""
        if self._view.store(SYSTEM_PRIORITIES).synced:
            known = (each.name for each in self._view.all(SYSTEM_PRIORITIES))
            refuse_priority(demand.priority, (n for n in known if not n.startswith("system-")))
        if self._view.store(PROJECTS).synced:
            self._refuse_unusable(demand)

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """The label by which Run:ai knows the requested node pool, and that of the pool's nodes.

        Without the first it would try the project's default node pools, and only these.
        """
        del queue
        pool = self._queues.node_pool(gpu_type)
        label = label_of(pool) if pool else None
        return Placement(labels={NODE_POOL: gpu_type}, node_labels=dict((label,)) if label else {})

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """Nothing: Run:ai does not report which priorities are never preempted."""
        del demand
        return ()

    def unmanaged(self, resource: Resource[Any], root: ClusterObject) -> str:
        """Nothing: all pods that name its scheduler are managed."""
        del resource, root
        return ""

    def left_out(self, root: ClusterObject, pods: Sequence[Pod]) -> str:
        """Nothing: Run:ai has no groups of pods of several objects."""
        del root, pods
        return ""

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """Nothing: Run:ai manages everything that names its scheduler."""
        del root, manifest, namespace
        return ""

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """Nothing: Run:ai schedules each pod that exists."""
        del resource, root
        return ""

    def admission(self, root: ClusterObject) -> AdmissionState | None:
        """The state of a run's object: it waits while no pod of it has a node.

        What it waits for, Run:ai's REST API says, or the scheduler in its pods.
        """
        pods = self._view.labelled(PODS, labels.RUN, root.labels.get(labels.RUN, ""))
        waits = blocked_pods(pods)
        if waits is None:
            return AdmissionState(root.name, AdmissionPhase.ADMITTED)
        known = self._reported(root)
        return AdmissionState(root.name, AdmissionPhase.WAITING, blocked=known or waits)

    def live_admission(self, root: ClusterObject) -> AdmissionState | None:
        """The same: there is no object of Run:ai in the cluster by which it could be read."""
        return self.admission(root)

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """Empty: Run:ai does not report the order of pending work."""
        del queue
        return ()

    def _reported(self, root: ClusterObject) -> Blocked | None:
        """What the workload waits for by the REST API; None if it says nothing."""
        record = self._queues.workload(root.namespace, root.name)
        waits = blocked(record) if record else None
        return waits if waits and (waits.said or (record and record.phase_reason)) else None

    def _refuse_unusable(self, demand: Demand) -> None:
        project = self._queues.project(demand.queue)
        if project is None:
            raise ConflictError(
                f"Run:ai has no project {demand.queue} in this cluster.",
                "A platform admin has to create it or correct `queue` in quartermaster.yaml.",
            )
        status = project.record.status
        namespace, phase = (status.namespace, status.phase) if status else (None, None)
        if namespace and namespace != demand.namespace:
            raise ConflictError(
                f"Run:ai's project {demand.queue} has namespace {namespace}, not"
                f" {demand.namespace}, so Run:ai would not count this run for it.",
                "A platform admin has to correct `namespace` or `queue` in quartermaster.yaml.",
            )
        # A project is updated when its quota changes, as by an override.
        if phase and phase not in {READY, UPDATING}:
            said = f": {status.phase_message}" if status and status.phase_message else ""
            raise ConflictError(
                f"Run:ai's project {demand.queue} is {phase}{said}.",
                "Try again once it is Ready; a platform admin can see why in Run:ai.",
            )
