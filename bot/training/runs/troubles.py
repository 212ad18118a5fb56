"""Finds what keeps a run's pods from starting or running: nodes, PVCs and warnings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import EVENTS, NODES, PODS, PVCS
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.events import Event
from bot.cluster.types.objects import ClusterObject, Node, Pod, find_condition, has_condition
from bot.masking import without_mentions
from bot.training.mishaps import FINE, FailureReason, of_claim, of_node, of_provisioning, of_warning
from bot.training.state import has_ended, has_place

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_BY_SCHEDULER = "PreemptionByScheduler"
_TAKER = re.compile(r"Preempted by (?:a )?pod:? ([0-9a-f-]{36})")


def loss_of(cluster: Cluster, pods: Sequence[Pod]) -> FailureReason:
    """The loss of a node or PVC of the pods, from the view."""
    for pod in pods:
        if has_place(pod) and not has_ended(pod):
            loss = _lost_node(cluster, pod.spec.node_name) or _lost_claim(cluster, pod)
            if loss:
                return loss
    return FINE


def warning_about(
    cluster: Cluster, pods: Sequence[Pod], root: ClusterObject, since: datetime
) -> FailureReason:
    """The newest warning of Kubernetes about pods that do not start, or about what creates them.

    Pods get no node while a PVC that they mount has no volume. Warnings from before `since` may be
    out of date.
    """
    namespace = root.namespace
    for claim in _unbound(cluster, pods):
        failed = _newest(cluster, namespace, claim.uid)
        if failed is not None and failed.reason == "ProvisioningFailed":
            return of_provisioning(claim.name, failed)
    last = _newest(cluster, namespace, pods[0].uid if pods else root.uid)
    if last is None and (not pods or labels.POD_GROUP in root.labels):
        last = _of_children(cluster, root)
    if last is None:
        return FINE
    warning = of_warning(last)
    # Kubernetes tells whole seconds: what it said in the second of `since` was not before.
    is_old = (last.last_seen or _LONG_AGO) < since.replace(microsecond=0)
    return replace(warning, is_final=warning.is_final and not is_old)


def is_about_volumes(cluster: Cluster, pods: Sequence[Pod]) -> bool:
    """Whether a pod waits for the volume of a PVC."""
    return next(_unbound(cluster, pods), None) is not None


def taker_of(cluster: Cluster, pod: Pod) -> str:
    """The run for which the scheduler preempted a pod; empty if it is not one of ours."""
    found = find_condition(pod.status.conditions, "DisruptionTarget")
    if found is None or found.reason != _BY_SCHEDULER:
        return ""
    fields = f"involvedObject.uid={pod.uid},reason=Preempted"
    events: list[Event] = cluster.list(EVENTS, pod.namespace, fields=fields)
    uids = {match[1] for each in events if (match := _TAKER.search(each.message))}
    takers = (each for each in cluster.view.all(PODS) if each.uid in uids)
    return next((_named(each) for each in takers), "")


def _named(pod: Pod) -> str:
    name = without_mentions(pod.metadata.annotations.get(labels.RUN_NAME, pod.name))
    return f"{name} of {pod.labels.get(labels.TEAM, pod.namespace)}"


def _lost_node(cluster: Cluster, name: str) -> FailureReason:
    node: Node | None = cluster.view.get(NODES, name)
    if node is None:
        is_known = cluster.view.store(NODES).synced
        return of_node(name, is_gone=True) if is_known else FINE
    ready = find_condition(node.status.conditions, "Ready")
    is_silent = ready is not None and not has_condition(node.status.conditions, "Ready")
    return of_node(name, is_gone=False) if is_silent else FINE


def _lost_claim(cluster: Cluster, pod: Pod) -> FailureReason:
    for claim in _claims(cluster, pod):
        is_lost = claim.status.phase == "Lost"
        if is_lost or claim.metadata.deletion_timestamp is not None:
            return of_claim(claim.name, is_lost=is_lost)
    return FINE


def _unbound(cluster: Cluster, pods: Sequence[Pod]) -> Iterator[PersistentVolumeClaim]:
    for pod in pods:
        if not has_place(pod) and not has_ended(pod):
            yield from (each for each in _claims(cluster, pod) if each.status.phase == "Pending")


def _claims(cluster: Cluster, pod: Pod) -> Iterator[PersistentVolumeClaim]:
    for name in sorted(pod.spec.claims):
        claim = cluster.view.get(PVCS, name, pod.namespace)
        if claim is not None:
            yield claim


def _newest(cluster: Cluster, namespace: str, uid: str) -> Event | None:
    fields = f"involvedObject.uid={uid},type=Warning"
    return _last(cluster.list(EVENTS, namespace, fields=fields))


def _of_children(cluster: Cluster, root: ClusterObject) -> Event | None:
    """The last warning about what creates pods for a root, by its name.

    That is the Job of an operator, or the ReplicaSet of the workers of a group.
    """
    kind = "ReplicaSet" if labels.POD_GROUP in root.labels else "Job"
    fields = f"involvedObject.kind={kind},reason=FailedCreate,type=Warning"
    events: list[Event] = cluster.list(EVENTS, root.namespace, fields=fields)
    start = f"{root.name}-"
    return _last(event for event in events if event.involved_object.name.startswith(start))


def _last(events: Iterable[Event]) -> Event | None:
    warnings = [event for event in events if event.type == "Warning" and event.message]
    return max(warnings, key=lambda event: event.last_seen or _LONG_AGO, default=None)
