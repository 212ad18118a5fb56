"""What a Job's pods say about it: which ended, which count as failures, which indexes are done."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.indexes import INDEX, read_indexes
from playground.cluster.objects.kinds import Object

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


@dataclass
class Verdict:
    """What newly ended pods add to a Job."""

    succeeded: int = 0
    failed: list[Object] = field(default_factory=list)
    ignored: list[Object] = field(default_factory=list)
    indexes: set[int] = field(default_factory=set)
    failed_indexes: set[int] = field(default_factory=set)
    fatal: str = ""


def is_ended(pod: Object) -> bool:
    """Whether a pod's containers will never run again."""
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def is_active(pod: Object) -> bool:
    """Whether a pod is pending or running and nobody has told it to end."""
    return not is_ended(pod) and not pod["metadata"].get("deletionTimestamp")


def is_terminating(pod: Object) -> bool:
    """Whether a pod was told to end and has not."""
    return not is_ended(pod) and bool(pod["metadata"].get("deletionTimestamp"))


def is_ready(pod: Object) -> bool:
    """Whether a pod answers."""
    return is_true(pod, "Ready")


def index_of(pod: Object) -> int | None:
    """The completion index of a pod of an Indexed Job."""
    text = pod["metadata"].get("annotations", {}).get(INDEX)
    return None if text is None else int(text)


def is_indexed(job: Object) -> bool:
    """Whether a Job numbers its pods."""
    return bool(job["spec"]["completionMode"] == "Indexed")


def replaces_failed_only(job: Object) -> bool:
    """Whether a pod that is told to end counts, and is replaced, only when it has ended."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def has_failed(job: Object, pod: Object) -> bool:
    """Whether a pod counts as failed; one that never ran is ended by the pod collector."""
    if pod["status"].get("phase") == "Failed":
        return True
    told = bool(pod["metadata"].get("deletionTimestamp")) and not is_ended(pod)
    return told and (not replaces_failed_only(job) or not pod["spec"].get("nodeName"))


def statuses_of(pod: Object) -> list[dict[str, Any]]:
    """What is reported about each container, those that come first among them."""
    status = pod["status"]
    return [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]


def judge(job: Object, pods: Iterable[Object]) -> Verdict:
    """What pods that have just ended mean for their Job."""
    verdict = Verdict()
    for pod in pods:
        index = index_of(pod)
        if is_indexed(job) and (index is None or index >= job["spec"]["completions"]):
            continue
        if pod["status"]["phase"] == "Succeeded":
            verdict.succeeded += 1
            verdict.indexes |= {index} if index is not None else set()
        else:
            _fail(verdict, job, pod)
    verdict.failed_indexes -= verdict.indexes
    return verdict


def _fail(verdict: Verdict, job: Object, pod: Object) -> None:
    action, message = _policy(job, pod)
    if action == "FailJob":
        verdict.fatal = message
    (verdict.ignored if action == "Ignore" else verdict.failed).append(pod)
    limit, index = job["spec"].get("backoffLimitPerIndex"), index_of(pod)
    if limit is None or index is None:
        return
    used_up = action != "Ignore" and failures_of(pod)[0] >= limit
    if used_up or action == "FailIndex":
        verdict.failed_indexes.add(index)


def failures_of(pod: Object) -> tuple[int, int]:
    """How often a pod's index had failed before it, counted and ignored."""
    notes = pod["metadata"].get("annotations", {})
    return int(notes.get(FAILURES, "0")), int(notes.get(IGNORED, "0"))


def _policy(job: Object, pod: Object) -> tuple[str, str]:
    """What the failure policy does about a pod, and in which words it fails the Job."""
    policy = job["spec"].get("podFailurePolicy") or {}
    for number, rule in enumerate(policy.get("rules") or ()):
        matched = _matched(rule, pod)
        if matched:
            return rule["action"], f"{matched} matching {rule['action']} rule at index {number}"
    return "Count", ""


def _matched(rule: dict[str, Any], pod: Object) -> str:
    """What matched a rule, in the words of the Job controller, or nothing."""
    space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    for pattern in rule.get("onPodConditions") or ():
        row = condition(pod, pattern["type"])
        if row is not None and row["status"] == pattern.get("status", "True"):
            return f"Pod {space}/{name} has condition {pattern['type']}"
    codes = rule.get("onExitCodes")
    for status in statuses_of(pod) if codes else ():
        code = status["state"].get("terminated", {}).get("exitCode", 0)
        only = (codes or {}).get("containerName")
        if code and only in {None, status["name"]} and _code_matches(codes, code):
            return f"Container {status['name']} for pod {space}/{name} failed with exit code {code}"
    return ""


def _code_matches(codes: Any, code: int) -> bool:
    listed = code in codes["values"]
    return listed if codes["operator"] == "In" else not listed


def success_rule(job: Object, indexes: set[int]) -> int | None:
    """The first rule of the success policy that is met."""
    completions = job["spec"].get("completions")
    rules = (job["spec"].get("successPolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
        wanted = read_indexes(listed, completions) if listed else None
        if wanted is None:
            met = count is not None and len(indexes) >= count
        else:
            done = len(indexes & wanted)
            met = done == len(wanted) or (count is not None and done >= count)
        if met and indexes:
            return number
    return None


def restarts_used_up(job: Object, pods: Iterable[Object]) -> bool:
    """Whether containers that start again in their pods did so too often."""
    if job["spec"]["template"]["spec"]["restartPolicy"] != "OnFailure":
        return False
    restarts = sum(
        row["restartCount"] for pod in pods if not is_ended(pod) for row in statuses_of(pod)
    )
    return bool(restarts >= max(1, job["spec"]["backoffLimit"]))
