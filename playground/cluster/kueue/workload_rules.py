"""What Kueue's webhook refuses in Workloads, and in their status."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.kueue.job_rules import NOT_BOTH
from playground.cluster.kueue.queue_rules import NEGATIVE
from playground.cluster.kueue.slices import REPLACES, is_elastic
from playground.cluster.kueue.workloads import is_reserved
from playground.cluster.objects.errors import Cause, required, unsupported, wrong
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.quantities import parse_quantity

_IMMUTABLE = "field is immutable"
_RESERVED_KEY = "the key is reserved for internal kueue use"
_ADMISSION, _RECLAIMABLE = "status.admission", "status.reclaimablePods"


def workload_causes(new: Object, old: Object | None) -> list[Cause]:
    """Everything that Kueue has against a Workload, or a change of one."""
    causes = [*_of_sets(new), *_of_admission(new, old), *_of_returned(new, old)]
    return causes if old is None else [*causes, *_of_change(new, old)]


def _of_sets(workload: Object) -> Iterator[Cause]:
    variable = 0
    for number, row in enumerate(workload["spec"].get("podSets") or ()):
        variable += row.get("minCount") is not None
        yield from _of_pods(row["template"].get("spec") or {}, f"spec.podSets[{number}]")
    if variable > 1:
        yield wrong("spec.podSets", variable, "at most one podSet can use minCount")
    if variable and is_elastic(workload):
        yield wrong("spec.podSets", variable, NOT_BOTH)


def _of_pods(spec: dict[str, Any], path: str) -> Iterator[Cause]:
    for part in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(part) or ()):
            resources = container.get("resources") or {}
            where = f"{path}.template.spec.{part}[{number}].resources"
            yield from _of_resources(resources, where)
    yield from _of_resources(spec.get("resources") or {}, f"{path}.template.spec.resources")


def _of_resources(resources: dict[str, Any], path: str) -> Iterator[Cause]:
    for part in ("requests", "limits"):
        for name, value in (resources.get(part) or {}).items():
            where = f"{path}.{part}[{name}]"
            if name == "pods":
                yield wrong(where, name, _RESERVED_KEY)
            if parse_quantity(value) < 0:
                yield wrong(where, str(value), NEGATIVE)


def _of_admission(new: Object, old: Object | None) -> Iterator[Cause]:
    if not is_reserved(new):
        return
    admission = (new.get("status") or {}).get("admission")
    if admission is None:
        if old is None or not is_reserved(old) or _admission(old) is not None:
            yield required(_ADMISSION, "must be set while the QuotaReserved condition is true")
        return
    names = {row["name"] for row in new["spec"]["podSets"]}
    for number, row in enumerate(admission.get("podSetAssignments") or ()):
        if row["name"] not in names:
            where = f"{_ADMISSION}.podSetAssignments[{number}].name"
            yield Cause(where, f'Not found: "{row["name"]}"', "FieldValueNotFound")


def _of_returned(new: Object, old: Object | None) -> Iterator[Cause]:
    """Pods that gave back their quota: no more of them than there are."""
    counts = {row["name"]: row["count"] for row in new["spec"].get("podSets") or ()}
    stale = _returned(old) if old is not None and is_elastic(new) else {}
    for name, count in _returned(new).items():
        where = f"{_RECLAIMABLE}[{name}]"
        if name not in counts:
            yield unsupported(f"{where}.name", name, list(counts))
        elif count > counts[name] and stale.get(name) != count:
            yield wrong(f"{where}.count", count, f"should be less or equal to {counts[name]}")


def _of_change(new: Object, old: Object) -> Iterator[Cause]:
    if is_reserved(old):
        yield from _of_sets_kept(new["spec"]["podSets"], old["spec"]["podSets"])
    if is_reserved(old) and is_reserved(new) and not is_elastic(new):
        yield from _of_returned_kept(_returned(new), _returned(old))
    before, now = _admission(old), _admission(new)
    if before is not None and now is not None and _plain(before) != _plain(now):
        yield wrong(_ADMISSION, now, _IMMUTABLE)
    yield from _of_cluster(new, old)


def _of_sets_kept(new: list[Any], old: list[Any]) -> Iterator[Cause]:
    if len(new) != len(old):
        yield wrong("spec.podSets", new, _IMMUTABLE)
        return
    for number, (now, before) in enumerate(zip(new, old, strict=True)):
        # An elastic job may give up pods.
        kept = {**now, "count": max(now["count"], before["count"])}
        if kept != before:
            yield wrong(f"spec.podSets.{number}", kept, _IMMUTABLE)


def _of_returned_kept(new: dict[str, int], old: dict[str, int]) -> Iterator[Cause]:
    for name, count in new.items():
        if name in old and count < old[name]:
            where = f"{_RECLAIMABLE}[{name}].count"
            yield wrong(where, count, f"cannot be less than {old[name]}")
    for name in old:
        if name not in new:
            yield required(f"{_RECLAIMABLE}[{name}]", "cannot be removed")


def _of_cluster(new: Object, old: Object) -> Iterator[Cause]:
    if REPLACES in (new["metadata"].get("annotations") or {}):
        return
    before, now = old.get("status") or {}, new.get("status") or {}
    named, nominated = now.get("clusterName"), before.get("nominatedClusterNames") or ()
    if named and not before.get("clusterName") and named not in nominated:
        words = "when setting clusterName it must be one of the nominatedClusterNames"
        yield wrong("status.clusterName", named, words)


def _admission(workload: Object) -> dict[str, Any] | None:
    found: dict[str, Any] | None = (workload.get("status") or {}).get("admission")
    return found


def _returned(workload: Object) -> dict[str, int]:
    rows = (workload.get("status") or {}).get("reclaimablePods") or ()
    return {row["name"]: row["count"] for row in rows}


def _plain(admission: dict[str, Any]) -> dict[str, Any]:
    """An admission without what may still be filled in: where on a topology pods go."""
    filled = {"topologyAssignment", "delayedTopologyRequest"}
    rows = [
        {name: value for name, value in row.items() if name not in filled}
        for row in admission.get("podSetAssignments") or ()
    ]
    return {**admission, "podSetAssignments": rows}
