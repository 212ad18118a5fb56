"""What Kueue does with runs: their labels, what it would never admit, and their state."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    JOBS,
    LOCAL_QUEUES,
    PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)
from bot.cluster.types.objects import ClusterObject, Job, Pod, find_condition, has_condition
from bot.cluster.types.queues import Workload
from bot.errors import ClusterError, ConflictError
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Taker
from bot.quotas.engines.engine import Demand, Manifest, Placement, Queue, QueueingSpec
from bot.quotas.engines.kueue.conditions import blocked, told_of_checks
from bot.quotas.engines.kueue.flavors import placement_of
from bot.quotas.engines.kueue.groups import grouped, grouped_beside, not_gated
from bot.quotas.engines.kueue.queues import KueueQueues
from bot.quotas.engines.kueue.workloads import KueueItem
from bot.quotas.engines.manifests import policy_of
from bot.quotas.engines.priorities import refuse_priority

_HELD = "It is on hold: its Workload was deactivated."
_REJECTED = "An admission check rejected it, and Kueue gave up on it:"
_GAVE_UP = {
    "RequeuingLimitExceeded": "Kueue gave up after too many attempts to start it.",
    "MaximumExecutionTimeExceeded": "It reached its maximum execution time in Kueue.",
}
_PREEMPTED = {
    "InClusterQueue": "Its GPUs were needed for a workload of higher priority in the same queue.",
    "InCohortReclamation": "Its GPUs were borrowed, and the team they belong to needed them back.",
    "InCohortFairSharing": "Its GPUs were borrowed, and another team was due its fair share.",
    "InCohortReclaimWhileBorrowing": (
        "Its GPUs were borrowed, and the team they belong to needed them back."
    ),
}
_TAKER = re.compile(r"\(UID: [^,)]*, JobUID: ([^)]*)\)")
_TAKER_PATH = re.compile(r"preemptor path: (?:[^;\s]*/)?([^;/\s]+)")


class KueueRuns:
    """What one cluster's Kueue does with runs."""

    def __init__(
        self, cluster: Cluster, queues: KueueQueues, excluded: tuple[str, ...] = ()
    ) -> None:
        self._cluster = cluster
        self._queues = queues
        self._excluded = excluded

    def apply_queueing(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest with its LocalQueue, and its priority if it has one."""
        return grouped(manifest, queueing) if queueing.group else queued(manifest, queueing)

    def apply_beside(self, manifest: Manifest, queueing: QueueingSpec) -> Manifest:
        """The manifest with its pods in the run's group, if it has one."""
        return grouped_beside(manifest, queueing) if queueing.group else manifest

    def refuse(self, demand: Demand) -> None:
        """Raises UsageError or ConflictError if Kueue is known never to admit such a run."""
        view = self._cluster.view
        if view.store(PRIORITY_CLASSES).synced:
            refuse_priority(demand.priority, (each.name for each in view.all(PRIORITY_CLASSES)))
        if not view.store(LOCAL_QUEUES).synced or not view.store(CLUSTER_QUEUES).synced:
            return
        if view.get(LOCAL_QUEUES, demand.queue, demand.namespace) is None:
            raise ConflictError(
                f"There is no LocalQueue {demand.queue} in namespace {demand.namespace}.",
                "A platform admin has to create it or correct `local_queue` in quartermaster.yaml.",
            )
        queue = self._queues.behind(demand.namespace, demand.queue)
        missing = [each for each in self._uncovered(demand, queue) if each in demand.needed]
        if queue is not None and missing:
            them = "it" if len(missing) == 1 else "them"
            raise ConflictError(
                f"ClusterQueue {queue.name} does not cover {' and '.join(missing)}, so Kueue would"
                " never admit this run.",
                f"A platform admin has to add {them} to the queue's coveredResources or, if Kueue"
                f" ignores {them}, to `excluded_resources` in quartermaster.yaml.",
            )

    def placement(self, queue: Queue, gpu_type: str) -> Placement:
        """The labels of the flavor's nodes, and tolerations for their taints."""
        return placement_of(self._cluster.view, queue, gpu_type)

    def warnings(self, demand: Demand) -> tuple[str, ...]:
        """The resources that its queue does not cover."""
        queue = self._queues.behind(demand.namespace, demand.queue)
        missing = self._uncovered(demand, queue)
        if not missing:
            return ()
        sentence = (
            f"The ClusterQueue does not cover {' and '.join(missing)}; unless Kueue is configured"
            " to ignore that, the run waits until a platform admin adds it."
        )
        return (sentence,)

    def _uncovered(self, demand: Demand, queue: Queue | None) -> list[str]:
        """The uncovered resources, without those that the settings say Kueue ignores."""
        missing = uncovered(demand, queue)
        return [name for name in missing if not name.startswith(self._excluded)]

    def unmanaged(self, resource: Resource[Any], root: ClusterObject) -> str:
        """The sentence that Kueue did not manage a run's object, and what to do about it.

        Nothing for a group: Kueue waits until all its pods exist.
        """
        if labels.POD_GROUP in root.labels:
            return ""
        kind = resource.kind
        return (
            f"Kueue did not start to manage the {kind} within 30 s, so the {kind} was deleted"
            " before it could start. A platform admin has to enable the integration"
            f" {resource.group}/{kind.lower()} in Kueue's configuration."
        )

    def left_out(self, root: ClusterObject, pods: Sequence[Pod]) -> str:
        """The sentence that Kueue does not manage the pods of a run's group.

        Its webhook marks what it manages when a pod is created, so a pod without the mark never
        becomes part of a group.
        """
        return not_gated(pods) if labels.POD_GROUP in root.labels else ""

    def leaves_alone(self, root: Resource[Any], manifest: Manifest, namespace: str) -> str:
        """The sentence that Kueue does not manage such objects.

        Its webhook suspends what it manages, which a dry run of the creation shows.
        """
        trial = deepcopy(manifest)
        policy_of(trial)["suspend"] = False
        made = self._cluster.create(root, trial, namespace, is_trial=True)
        if getattr(made.spec, "run_policy", made.spec).suspend:
            return ""
        return (
            f"Kueue does not manage {root.kind}s here, so none was created. A platform admin has to"
            f" enable the integration {root.group}/{root.kind.lower()} in Kueue's configuration."
        )

    def fixed(self, resource: Resource[Any], root: ClusterObject) -> str:
        """The sentence that a running run cannot change its nodes, unless Kueue gates its pods."""
        gates = root.spec.template.spec.scheduling_gates if isinstance(root, Job) else ()
        if any(gate.name == labels.ELASTIC for gate in gates):
            return ""
        if resource is not JOBS:
            return f"Kueue cannot change the number of nodes of a {resource.kind} while it runs."
        return (
            "This Kueue cannot change the number of nodes of a run while it runs: its feature gate"
            " ElasticJobsViaWorkloadSlices, on from Kueue 0.18, is off."
        )

    def admission(self, root: ClusterObject) -> AdmissionState | None:
        """The state of a run's object, by its Workload in the view."""
        view = self._cluster.view
        if group := root.labels.get(labels.POD_GROUP):
            of_group = view.get(WORKLOADS, group, root.namespace)
            return self._with_taker(self._told(of_group)) if of_group else None
        found = view.labelled(WORKLOADS, labels.JOB_UID, root.uid) or view.owned_by(
            WORKLOADS, root.uid
        )
        last = _last(found)
        return self._with_taker(self._told(last)) if last else None

    def live_admission(self, root: ClusterObject) -> AdmissionState | None:
        """The same, read from the cluster; None if Kueue is not served."""
        try:
            workloads = self._cluster.list(WORKLOADS, root.namespace)
        except ClusterError as error:
            if error.reason == "NotServed":
                return None
            raise
        owned = [
            each
            for each in workloads
            if each.job_uid == root.uid
            or each.name == root.labels.get(labels.POD_GROUP)
            or any(owner.uid == root.uid for owner in each.metadata.owner_references)
        ]
        last = _last(owned)
        return self._told(last) if last else None

    def _told(self, workload: Workload) -> AdmissionState:
        """The state of a Workload, and the flavor of its GPUs."""
        admission, resource = workload.status.admission, self._queues.resource
        given = admission.pod_set_assignments if admission else ()
        flavors = (each.flavors[resource] for each in given if resource in each.flavors)
        return replace(standing_of(workload), flavor=next(flavors, ""))

    def _with_taker(self, admission: AdmissionState) -> AdmissionState:
        """The same, with what the view shows of the Workload that preempted it."""
        taker = admission.taker
        if taker is None or not taker.uid:
            return admission
        found = self._cluster.view.labelled(WORKLOADS, labels.JOB_UID, taker.uid)
        if not found:
            return admission
        item = KueueItem(found[0], self._queues.resource)
        return replace(admission, taker=replace(taker, kind=item.kind, name=item.name))

    def order(self, queue: str) -> Sequence[tuple[str, str]]:
        """What waits in a ClusterQueue, next one first; empty if Kueue does not report it."""
        try:
            pending = self._cluster.pending_workloads(queue)
        except ClusterError:
            # The position in the queue is optional; the run does not depend on it.
            return ()
        return [(each.namespace, each.name) for each in pending]


def queued(manifest: Manifest, queueing: QueueingSpec) -> Manifest:
    """A manifest with the labels by which Kueue manages it."""
    marks = {labels.QUEUE_NAME: queueing.queue}
    if queueing.priority:
        marks[labels.PRIORITY_CLASS] = queueing.priority
    metadata = manifest["metadata"]
    metadata = metadata | {"labels": metadata["labels"] | marks}
    if queueing.least is not None and "parallelism" in manifest["spec"]:
        # Kueue supports this only for Jobs, and rejects it for operators' objects.
        metadata["annotations"] = metadata["annotations"] | {labels.ELASTIC: "true"}
    return manifest | {"metadata": metadata}


def _last(workloads: Sequence[Workload]) -> Workload | None:
    """The Workload that holds the quota; a growing run has a second one that waits."""
    if not workloads:
        return None
    live = [each for each in workloads if not has_condition(each.status.conditions, "Finished")]
    return max(live or workloads, key=_rank)


def _rank(workload: Workload) -> tuple[bool, str]:
    is_admitted = has_condition(workload.status.conditions, "Admitted")
    return is_admitted, str(workload.metadata.creation_timestamp)


def standing_of(workload: Workload) -> AdmissionState:
    """The state of a Workload."""
    conditions, name = workload.status.conditions, workload.name
    admitted = find_condition(conditions, "Admitted")
    if admitted is not None and admitted.true:
        return AdmissionState(name, AdmissionPhase.ADMITTED, since=admitted.last_transition_time)
    why = blocked(workload)
    rejected = _rejected(workload)
    if rejected:
        return AdmissionState(
            name, AdmissionPhase.GIVEN_UP, reason=_REJECTED, quote=rejected, blocked=why
        )
    evicted = find_condition(conditions, "Evicted")
    held = "" if workload.spec.active else _HELD
    if evicted is None or not evicted.true:
        return AdmissionState(name, AdmissionPhase.WAITING, reason=held, blocked=why)
    for cause, sentence in _GAVE_UP.items():
        if cause in evicted.reason and held:
            return AdmissionState(name, AdmissionPhase.GIVEN_UP, reason=sentence, blocked=why)
    if evicted.reason == "Preempted":
        return AdmissionState(
            name,
            AdmissionPhase.PREEMPTED,
            _why_preempted(workload),
            since=evicted.last_transition_time,
            blocked=why,
            taker=_taker(evicted.message),
        )
    if held:
        return AdmissionState(name, AdmissionPhase.WAITING, reason=held, blocked=why)
    back = "It was requeued:"
    return AdmissionState(
        name, AdmissionPhase.WAITING, reason=back, quote=evicted.message, blocked=why
    )


def _rejected(workload: Workload) -> str:
    """The message of the check for which Kueue gave up on a Workload; empty if none."""
    conditions = workload.status.conditions
    finished = find_condition(conditions, "Finished")
    if finished is not None and finished.true and finished.reason == "AdmissionChecksRejected":
        return finished.message or finished.reason
    evicted = find_condition(conditions, "Evicted")
    if workload.spec.active or evicted is None or not evicted.true:
        return ""
    # Once it is evicted its checks are Pending again; versions before 0.14 leave them Rejected.
    said = told_of_checks(workload, "Rejected")
    if said or "AdmissionCheck" in evicted.reason or "in Rejected state" in evicted.message:
        return said or evicted.message.removeprefix("The workload is deactivated due to ")
    return ""


def uncovered(demand: Demand, queue: Queue | None) -> list[str]:
    """The resources it requests that its queue does not cover.

    Kueue never admits such a run, unless it is configured to ignore these resources.
    """
    covered = queue.covered if queue else frozenset()
    return [name for name in demand.resources if covered and name not in covered]


def _taker(message: str) -> Taker | None:
    """What preempted the Workload, as far as Kueue's message says."""
    uid, queue = _TAKER.search(message), _TAKER_PATH.search(message)
    if uid is None and queue is None:
        return None
    return Taker(uid[1] if uid else "", queue[1] if queue else "")


def _why_preempted(workload: Workload) -> str:
    preempted = find_condition(workload.status.conditions, "Preempted")
    return _PREEMPTED.get(
        preempted.reason if preempted else "", "Its GPUs were needed for another workload."
    )
