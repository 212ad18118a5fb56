"""What Kueue's webhooks refuse in ClusterQueues, Cohorts and ResourceFlavors."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from playground.cluster.objects.errors import (
    Cause,
    duplicate,
    not_allowed,
    required,
    unsupported,
    wrong,
)
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.names import label_key_faults, label_value_faults, wrong_labels
from playground.cluster.objects.quantities import parse_quantity

NEGATIVE = "must be greater than or equal to 0"
_TOO_MUCH_LENT = "must be less than or equal to the nominalQuota"
_VANISHES = "When not 0, weight must be > 10e-9"
_LEAST_WEIGHT = Decimal("1e-9")
_GROUPS = "spec.resourceGroups"
_MOST, _MOST_TOGETHER = 256, 512


def queue_causes(queue: Object) -> list[Cause]:
    """What no ClusterQueue may have."""
    spec = queue.get("spec") or {}
    causes = list(_of_groups(spec, "" if spec.get("cohortName") else "cohort", lends_own=True))
    causes += _of_selector(spec.get("namespaceSelector") or {}, "spec.namespaceSelector")
    causes += _of_weight(spec)
    causes += _of_sizes(spec)
    return causes + list(_of_checks(spec))


def cohort_causes(cohort: Object) -> list[Cause]:
    """What no Cohort may have; what it lends may be more than its own."""
    spec = cohort.get("spec") or {}
    lacks = "" if spec.get("parentName") else "parent"
    return [*_of_weight(spec), *_of_groups(spec, lacks, lends_own=False)]


def flavor_causes(flavor: Object) -> list[Cause]:
    """What no ResourceFlavor may have."""
    spec = flavor.get("spec") or {}
    causes = wrong_labels(spec.get("nodeLabels"), "spec.nodeLabels")
    causes += _of_taints(spec.get("nodeTaints") or ())
    for number, row in enumerate(spec.get("tolerations") or ()):
        where = f"spec.tolerations[{number}].key"
        faults = label_key_faults(row["key"]) if row.get("key") else ()
        causes += [wrong(where, row["key"], fault) for fault in faults]
    return causes


def _of_groups(spec: dict[str, Any], lacks: str, *, lends_own: bool) -> Iterator[Cause]:
    """Names, duplicates and quotas; `lacks` says from whom nothing can be borrowed."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for g, group in enumerate(spec.get("resourceGroups") or ()):
        path = f"{_GROUPS}[{g}]"
        for number, name in enumerate(group["coveredResources"]):
            where = f"{path}.coveredResources[{number}]"
            yield from (wrong(where, name, fault) for fault in label_key_faults(name))
            if name in resources:
                yield duplicate(where, name)
            resources.add(name)
        for number, flavor in enumerate(group["flavors"]):
            where = f"{path}.flavors[{number}]"
            for place, quota in _quotas(flavor, group, where):
                yield from _of_quota(place, quota, lacks, lends_own=lends_own)
            if flavor["name"] in flavors:
                yield duplicate(f"{where}.name", flavor["name"])
            flavors.add(flavor["name"])


def _quotas(flavor: Any, group: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    pairs = zip(flavor["resources"], group["coveredResources"], strict=False)
    for number, (quota, covered) in enumerate(pairs):
        yield f"{where}.resources[{number}]", {**quota, "covered": covered}


def _of_quota(where: str, quota: dict[str, Any], lacks: str, *, lends_own: bool) -> Iterator[Cause]:
    if quota["name"] != quota["covered"]:
        yield wrong(f"{where}.name", quota["name"], "must match the name in coveredResources")
    for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        value = quota.get(name)
        if value is None:
            continue
        negative = parse_quantity(value) < 0
        alone = bool(lacks) and name != "nominalQuota"
        faults = [(negative, NEGATIVE), (alone, f"must be nil when {lacks} is empty")]
        # Kueue looks at what may be borrowed in the other order than at what is lent.
        for broken, words in reversed(faults) if name == "borrowingLimit" else faults:
            if broken:
                yield wrong(f"{where}.{name}", str(value), words)
    lent, own = quota.get("lendingLimit"), parse_quantity(quota["nominalQuota"])
    if lends_own and lent is not None and parse_quantity(lent) > own:
        yield wrong(f"{where}.lendingLimit", str(lent), _TOO_MUCH_LENT)


def _of_selector(selector: dict[str, Any], path: str) -> Iterator[Cause]:
    yield from wrong_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for number, row in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{number}]"
        yield from _of_operator(row, where)
        for fault in label_key_faults(row["key"]):
            yield wrong(f"{where}.key", row["key"], fault)
        for place, value in enumerate(row.get("values") or ()):
            for fault in label_value_faults(value):
                yield wrong(f"{where}.values[{place}]", value, fault)


def _of_operator(row: dict[str, Any], where: str) -> Iterator[Cause]:
    operator, values = row["operator"], row.get("values")
    if operator in {"In", "NotIn"}:
        if not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            yield required(f"{where}.values", why)
    elif operator not in {"Exists", "DoesNotExist"}:
        yield wrong(f"{where}.operator", operator, "not a valid selector operator")
    elif values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield not_allowed(f"{where}.values", why)


def _of_weight(spec: dict[str, Any]) -> Iterator[Cause]:
    weight = (spec.get("fairSharing") or {}).get("weight")
    if weight is None:
        return
    if parse_quantity(weight) < 0:
        yield wrong("spec.fairSharing", str(weight), NEGATIVE)
    elif 0 < parse_quantity(weight) <= _LEAST_WEIGHT:
        yield wrong("spec.fairSharing", str(weight), _VANISHES)


def _of_sizes(spec: dict[str, Any]) -> Iterator[Cause]:
    groups = spec.get("resourceGroups") or ()
    for part, what in (("flavors", "flavors"), ("coveredResources", "covered resources")):
        total = sum(len(group[part]) for group in groups)
        if total > _MOST:
            words = f"across all resourceGroups must be ≤ {_MOST}, got {total}"
            yield wrong(_GROUPS, total, f"total number of {what} {words}")
    for number, group in enumerate(groups):
        total = sum(len(flavor["resources"]) for flavor in group["flavors"])
        if total > _MOST_TOGETHER:
            words = f"in a resourceGroup must be ≤ {_MOST_TOGETHER}, got {total}"
            what = "number of flavor-resource combinations"
            yield wrong(f"{_GROUPS}[{number}]", total, f"{what} {words}")


def _of_checks(spec: dict[str, Any]) -> Iterator[Cause]:
    """Admission checks may be for flavors of the queue alone."""
    groups = spec.get("resourceGroups") or ()
    known = [flavor["name"] for group in groups for flavor in group["flavors"]]
    strategy = spec.get("admissionChecksStrategy") or {}
    for number, check in enumerate(strategy.get("admissionChecks") or ()):
        path = f"spec.admissionChecksStrategy.admissionChecks[{number}].onFlavors"
        for place, flavor in enumerate(check.get("onFlavors") or ()):
            if flavor not in known:
                yield unsupported(f"{path}[{place}]", flavor, known)


def _of_taints(taints: Any) -> list[Cause]:
    causes: list[Cause] = []
    known: set[tuple[str, str]] = set()
    for number, taint in enumerate(taints):
        where, value = f"spec.nodeTaints[{number}]", taint.get("value", "")
        causes += [wrong(f"{where}.key", taint["key"], f) for f in label_key_faults(taint["key"])]
        if faults := label_value_faults(value):
            causes.append(wrong(f"{where}.value", value, ";".join(faults)))
        pair = (taint["key"], taint["effect"])
        if pair in known:
            shown = {"key": pair[0], "value": value, "effect": pair[1]}
            why = "taints must be unique by key and effect pair"
            causes.append(duplicate(where, shown, why))
        known.add(pair)
    return causes
