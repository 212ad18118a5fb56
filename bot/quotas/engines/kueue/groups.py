"""Runs of several objects under Kueue: their pods are one group, admitted together."""

from collections.abc import Sequence
from copy import deepcopy

from bot.cluster import labels
from bot.cluster.types.objects import Pod
from bot.quotas.engines.engine import Manifest, QueueingSpec
from bot.quotas.engines.manifests import policy_of, started_at_once, templates

# So many preemptions do not end a run that is admitted as a group of pods.
_EVICTIONS = 20
# Kueue removes it from the pods of a group that it has admitted.
_GATE = {"name": "kueue.x-k8s.io/admission"}
_ENDED = frozenset({"Succeeded", "Failed"})
_NOT_GATED = (
    "Kueue does not manage the pods of this run, so it was deleted before any of them could start."
    " A platform admin has to enable the integration pod in Kueue's configuration. Without"
    " --form deployment, launcher and workers are one Job, which needs no such integration."
)


def grouped(manifest: Manifest, queueing: QueueingSpec) -> Manifest:
    """A manifest whose pods Kueue admits together with others of their group.

    Kueue manages the pods and not their owner, which therefore starts at once: its pods are gated
    until all of the group are admitted. The group is over with the pods of this manifest.
    """
    made = deepcopy(manifest)
    started_at_once(made)
    made["metadata"]["labels"] |= {labels.POD_GROUP: queueing.group}
    for template in templates(made["spec"]):
        _join_group(template, queueing)
        template["metadata"]["annotations"][labels.RETRIABLE_IN_GROUP] = "false"
    policy = policy_of(made)
    # Kueue deletes the pods of what it preempts, which their owner counts as a failure.
    made["metadata"]["annotations"][labels.ATTEMPTS] = str(policy["backoffLimit"])
    policy["backoffLimit"] = max(policy["backoffLimit"], _EVICTIONS)
    return made


def grouped_beside(manifest: Manifest, queueing: QueueingSpec) -> Manifest:
    """A manifest of an object whose pods join the group of a run."""
    made = deepcopy(manifest)
    for template in templates(made):
        _join_group(template, queueing)
        template["spec"].pop("priorityClassName", None)
    return made


def not_gated(pods: Sequence[Pod]) -> str:
    """The sentence that a pod of the group was created without Kueue; empty if none was."""
    for pod in pods:
        is_over = pod.status.phase in _ENDED or pod.metadata.deletion_timestamp is not None
        if labels.POD_GROUP in pod.labels and labels.MANAGED not in pod.labels and not is_over:
            return _NOT_GATED
    return ""


def _join_group(template: Manifest, queueing: QueueingSpec) -> None:
    marks = {labels.QUEUE_NAME: queueing.queue, labels.POD_GROUP: queueing.group}
    if queueing.priority:
        marks[labels.PRIORITY_CLASS] = queueing.priority
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**metadata.get("labels", {}), **marks}
    count = {labels.POD_GROUP_COUNT: str(queueing.pods)}
    metadata["annotations"] = {**metadata.get("annotations", {}), **count}
    # Its webhook adds the gate too. Where the webhook is off, no pod starts without quota.
    template["spec"]["schedulingGates"] = [dict(_GATE)]
