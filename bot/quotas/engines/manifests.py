"""Changes to manifests for engines that do not suspend runs."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from bot.cluster import labels
from bot.quotas.engines.engine import Manifest, QueueingSpec

# Each eviction by deletion of the pods counts as a failure of the Job.
ATTEMPTS = 20
_TERMINATED = 143
_LIMIT = "activeDeadlineSeconds"
_MIN_MEMBER = "kai.scheduler/batch-min-member"


def started_at_once(manifest: Manifest) -> None:
    """Lets the run start as soon as nodes have capacity, and its time limit count from then.

    A Job's own time limit would count while its pods wait for a node; theirs do not.
    """
    spec = manifest["spec"]
    policy = policy_of(manifest)
    policy.pop("suspend", None)
    limit = policy.pop(_LIMIT, None)
    if limit is None:
        return
    for template in templates(spec):
        template["spec"][_LIMIT] = limit


def placed_together(manifest: Manifest, queueing: QueueingSpec) -> None:
    """Says by KAI's annotation how many pods of a Job start together."""
    if queueing.pods > 1 and "parallelism" in manifest["spec"]:
        least = queueing.pods if queueing.least is None else queueing.least
        manifest["metadata"].setdefault("annotations", {})[_MIN_MEMBER] = str(least)


def scheduled_by(scheduler: str, template: Manifest, marks: Manifest) -> None:
    """Names the scheduler of the template's pods, and sets labels that it reads."""
    template.setdefault("metadata", {}).setdefault("labels", {}).update(marks)
    template["spec"]["schedulerName"] = scheduler


def shared_gpu(template: Manifest, gpus: Decimal, resource: str) -> None:
    """Requests a part of a GPU by the annotation of KAI and Run:ai, if it is a part."""
    if gpus == gpus.to_integral_value():
        return
    annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
    annotations[labels.GPU_FRACTION] = f"{gpus.normalize():f}"
    for container in template["spec"]["containers"]:
        for amounts in container.get("resources", {}).values():
            amounts.pop(resource, None)


def tolerant_of_evictions(manifest: Manifest, pods: int) -> None:
    """Keeps evictions, each of which looks like a failure, from ending the run.

    Only pods that failed by themselves count, and the bot counts these.
    """
    policy, spec = policy_of(manifest), manifest["spec"]
    attempts = policy.get("backoffLimit", policy.get("backoffLimitPerIndex", 0) * pods)
    if attempts:
        manifest["metadata"].setdefault("annotations", {})[labels.ATTEMPTS] = str(attempts)
    for name in ("backoffLimit", "backoffLimitPerIndex"):
        if name in policy:
            policy[name] = max(policy[name], ATTEMPTS)
    rules = spec.get("podFailurePolicy", {}).get("rules")
    if rules is not None:
        codes = {"operator": "In", "values": [_TERMINATED]}
        rules.append({"action": "Ignore", "onExitCodes": codes})


def policy_of(manifest: Manifest) -> Manifest:
    """The part of a manifest that says how long and how often it runs."""
    spec: Manifest = manifest["spec"]
    policy: Manifest = spec.get("runPolicy", spec)
    return policy


def templates(part: Any) -> Iterator[Manifest]:
    """Every pod template inside a manifest."""
    spec = part.get("spec") if isinstance(part, dict) else None
    if isinstance(spec, dict) and "containers" in spec:
        yield part
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from templates(each)
