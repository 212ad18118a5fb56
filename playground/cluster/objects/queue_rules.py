"""What Kueue's webhooks refuse in ClusterQueues and Cohorts."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, denied, wrong
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.quantities import parse_quantity

_NEGATIVE = "must be greater than or equal to 0"
_TOO_MUCH_LENT = "must be less than or equal to the nominalQuota"


def check_queue(queue: Object) -> None:
    """Raises 403 for quotas that no ClusterQueue may have."""
    spec = queue.get("spec") or {}
    causes = list(_of_groups(spec, "" if spec.get("cohortName") else "cohort"))
    causes += _of_lending(spec)
    if causes:
        raise denied("vclusterqueue.kb.io", causes)


def check_cohort(cohort: Object) -> None:
    """Raises 403 for quotas that no Cohort may have; what it lends may be more than its own."""
    spec = cohort.get("spec") or {}
    causes = list(_of_groups(spec, "" if spec.get("parentName") else "parent"))
    if causes:
        raise denied("vcohort.kb.io", causes)


def _of_groups(spec: dict[str, Any], lacks: str) -> Iterator[Cause]:
    """Negative figures, and limits where there is nobody to borrow from; `lacks` names who."""
    for where, quota in _quotas(spec):
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            value = quota.get(name)
            if value is None:
                continue
            if parse_quantity(value) < 0:
                yield wrong(f"{where}.{name}", str(value), _NEGATIVE)
            if lacks and name != "nominalQuota":
                yield wrong(f"{where}.{name}", str(value), f"must be nil when {lacks} is empty")


def _of_lending(spec: dict[str, Any]) -> Iterator[Cause]:
    for where, quota in _quotas(spec):
        lent = quota.get("lendingLimit")
        if lent is not None and parse_quantity(lent) > parse_quantity(quota["nominalQuota"]):
            yield wrong(f"{where}.lendingLimit", str(lent), _TOO_MUCH_LENT)


def _quotas(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for g, group in enumerate(spec.get("resourceGroups") or ()):
        for f, flavor in enumerate(group.get("flavors") or ()):
            for r, quota in enumerate(flavor.get("resources") or ()):
                yield f"spec.resourceGroups[{g}].flavors[{f}].resources[{r}]", quota
