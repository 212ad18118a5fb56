"""What the API server refuses in new Jobs."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import (
    Cause,
    invalid,
    required,
    unsupported,
    wrong,
)
from playground.cluster.objects.indexes import indexes_problem
from playground.cluster.objects.kinds import JOB, Object
from playground.cluster.objects.pods import check_pod_spec

MOST_PARALLEL = 100_000
LONGEST_LABEL = 63
_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_NEGATIVE = "must be greater than or equal to 0"


def check_job(job: Object) -> None:
    """Raises 422 for what no Job may look like."""
    check_pod_spec(JOB, job, job["spec"]["template"]["spec"], "spec.template.spec")
    causes = [*job_causes(job["spec"], "spec"), *_name_causes(job)]
    if causes:
        raise invalid(JOB, job["metadata"]["name"], causes)


def job_causes(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with the spec of a Job, its pods aside."""
    for name in _NUMBERS:
        value = spec.get(name)
        if value is not None and value < 0:
            yield wrong(f"{path}.{name}", value, _NEGATIVE)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _mode(spec, path)
    for index, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        yield from _failure_rule(spec, rule, f"{path}.podFailurePolicy.rules[{index}]")
    yield from _success_policy(spec, f"{path}.successPolicy")
    yield from _replacement(spec, f"{path}.podReplacementPolicy")
    yield from _restarts(spec, f"{path}.template.spec.restartPolicy")


def _name_causes(job: Object) -> Iterator[Cause]:
    spec, name = job["spec"], job["metadata"]["name"]
    if spec.get("completionMode") != "Indexed" or not spec.get("completions"):
        return
    host = f"{name}-{spec['completions'] - 1}"
    if len(host) > LONGEST_LABEL or "." in host:
        why = f"will not able to create pod with invalid DNS label: {host}"
        yield wrong("metadata.name", name, why)


def _mode(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in {"NonIndexed", "Indexed"}:
        yield unsupported(f"{path}.completionMode", mode, ["NonIndexed", "Indexed"])
    if mode != "Indexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield wrong(f"{path}.{name}", spec[name], "requires indexed completion mode")
        return
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
        return
    if (spec.get("parallelism") or 0) > MOST_PARALLEL:
        why = f"must be less than or equal to {MOST_PARALLEL} when completion mode is Indexed"
        yield wrong(f"{path}.parallelism", spec["parallelism"], why)
    if failures is not None and failures > completions:
        why = "must be less than or equal to completions"
        yield wrong(f"{path}.maxFailedIndexes", failures, why)


def _failure_rule(spec: dict[str, Any], rule: dict[str, Any], path: str) -> Iterator[Cause]:
    action, codes = rule.get("action"), rule.get("onExitCodes")
    if not action:
        yield required(f"{path}.action", f"valid values: {list(_ACTIONS)}".replace("'", '"'))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield wrong(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield unsupported(f"{path}.action", action, _ACTIONS)
    both = bool(codes) + bool(rule.get("onPodConditions"))
    if both != 1:
        one = "both OnExitCodes and OnPodConditions is not supported"
        none = "one of OnExitCodes and OnPodConditions is required"
        yield Cause(path, f"Invalid value: specifying {one if both else none}")
    if codes:
        yield from _exit_codes(spec, codes, f"{path}.onExitCodes")


def _exit_codes(spec: dict[str, Any], codes: dict[str, Any], path: str) -> Iterator[Cause]:
    pod = spec["template"]["spec"]
    names = {c["name"] for c in [*pod["containers"], *(pod.get("initContainers") or ())]}
    name = codes.get("containerName")
    if name is not None and name not in names:
        why = "must be one of the container or initContainer names in the pod template"
        yield wrong(f"{path}.containerName", name, why)
    values = codes.get("values") or []
    if not values:
        yield wrong(f"{path}.values", values, "at least one value is required")
    for index, value in enumerate(values):
        if value == 0 and codes.get("operator") == "In":
            yield wrong(f"{path}.values[{index}]", 0, "must not be 0 for the In operator")
    if values != sorted(values):
        yield wrong(f"{path}.values", values, "must be ordered")


def _success_policy(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield wrong(path, policy, "requires indexed completion mode")
        return
    rules = policy.get("rules") or ()
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", why)
    for index, rule in enumerate(rules):
        yield from _success_rule(spec, rule, f"{path}.rules[{index}]")


def _success_rule(spec: dict[str, Any], rule: dict[str, Any], path: str) -> Iterator[Cause]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    completions = spec.get("completions") or 0
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(path, why)
    total, problem = indexes_problem(indexes or "", completions)
    if problem:
        why = f"error parsing succeededIndexes: {problem}"
        yield wrong(f"{path}.succeededIndexes", indexes, why)
    for limit, what in (
        (completions, "the number of specified completions"),
        (total if indexes is not None else None, _LISTED),
    ):
        if count is not None and limit is not None and count > limit:
            why = f"must be less than or equal to {limit} ({what})"
            yield wrong(f"{path}.succeededCount", count, why)


_LISTED = "the number of indexes in the specified succeededIndexes field"


def _replacement(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    policy = spec.get("podReplacementPolicy")
    allowed = ["Failed"] if spec.get("podFailurePolicy") else ["Failed", "TerminatingOrFailed"]
    if policy is not None and policy not in allowed:
        yield unsupported(path, policy, allowed)


def _restarts(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in {None, "", "Always"}:
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield unsupported(path, policy, ["OnFailure", "Never"])
    elif spec.get("podFailurePolicy") and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield wrong(path, policy, why)


def check_job_change(old: Object, new: Object) -> None:
    """Raises 422 where a change touches what is fixed once a Job exists or has started."""
    before, after = old["spec"], new["spec"]
    causes = [*_completions(before, after)]
    for name in ("selector", "template", "completionMode", *_FIXED):
        was = before.get(name) if name != "template" else _free(old, new)
        if was != after.get(name):
            causes.append(wrong(f"spec.{name}", after.get(name), "field is immutable"))
    if causes:
        raise invalid(JOB, new["metadata"]["name"], causes)


_FIXED = ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")


def _completions(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Cause]:
    value = after.get("completions")
    if before.get("completions") == value:
        return
    if after.get("completionMode") != "Indexed":
        yield wrong("spec.completions", value, "field is immutable")
    elif value is not None and value != after["parallelism"]:
        why = "can only be modified in tandem with spec.parallelism"
        yield wrong("spec.completions", value, why)


def _free(old: Object, new: Object) -> dict[str, Any]:
    """The old template with what may change now taken from the new one.

    While a Job is suspended and none of its pods is left, that is where its pods may run, their
    labels and annotations, and their resources.
    """
    template: dict[str, Any] = old["spec"]["template"]
    status = old.get("status", {})
    rows = status.get("conditions", ())
    rests = any(row["type"] == "Suspended" and row["status"] == "True" for row in rows)
    if not (old["spec"].get("suspend") and rests and not status.get("active")):
        return template
    wanted = new["spec"]["template"]
    free = _taken(template["spec"], wanted["spec"], ("nodeSelector", "tolerations", *_GATES))
    affinity = {**(free.get("affinity") or {})} | _node_affinity(wanted["spec"])
    free["affinity"] = affinity if "affinity" in wanted["spec"] else None
    free = {key: value for key, value in free.items() if value is not None}
    if len(free.get("containers", ())) == len(wanted["spec"].get("containers", ())):
        pairs = zip(free["containers"], wanted["spec"]["containers"], strict=True)
        free["containers"] = [_taken(mine, theirs, ("resources",)) for mine, theirs in pairs]
    return {**template, "metadata": wanted.get("metadata"), "spec": free}


_GATES = ("schedulingGates",)


def _node_affinity(spec: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in (spec.get("affinity") or {}).items() if k == "nodeAffinity"}


def _taken(mine: dict[str, Any], theirs: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {**mine, **{name: theirs.get(name) for name in names}}
