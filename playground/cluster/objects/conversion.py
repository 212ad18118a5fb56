"""Objects in the versions clients ask for; they are kept in one."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from playground.cluster.objects.kinds import EVENT, NEW_EVENT, Kind, Object

Convert = Callable[[Object], None]
_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def kept_as(kind: Kind) -> Kind:
    """The kind under which objects are kept: both kinds of events are one."""
    return EVENT if kind is NEW_EVENT else kind


def to_version(kind: Kind, version: str, obj: Object) -> Object:
    """A kept object as a client of this version sees it; the same one where nothing differs."""
    if kind.group == NEW_EVENT.group:
        return _new_event(obj)
    if version == kind.version:
        return obj
    converted = deepcopy(obj)
    converted["apiVersion"] = kind.in_version(version)
    if version == "v1beta1" and kind.kind in _DOWN:
        _DOWN[kind.kind](converted)
    return converted


def from_version(kind: Kind, version: str, obj: Object) -> Object:
    """What a client of this version sent, as it is kept."""
    if kind.group == NEW_EVENT.group:
        return _old_event(obj)
    if version == kind.version:
        return obj
    converted = deepcopy(obj)
    converted["apiVersion"] = kind.api_version
    if version == "v1beta1" and kind.kind in _UP:
        _UP[kind.kind](converted)
    return converted


def _rename(holder: Any, old: str, new: str) -> None:
    if isinstance(holder, dict) and old in holder:
        holder[new] = holder.pop(old)


def _queue_down(obj: Object) -> None:
    _rename(obj.get("spec"), "cohortName", "cohort")
    fungibility = obj.get("spec", {}).get("flavorFungibility") or {}
    for field, old in (("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")):
        if fungibility.get(field) == "MayStopSearch":
            fungibility[field] = old


def _queue_up(obj: Object) -> None:
    _rename(obj.get("spec"), "cohort", "cohortName")
    fungibility = obj.get("spec", {}).get("flavorFungibility") or {}
    for field, value in fungibility.items():
        fungibility[field] = _FUNGIBILITY.get(value, value)


def _workload_down(obj: Object) -> None:
    reference = obj.get("spec", {}).pop("priorityClassRef", None)
    if reference:
        source = f"{reference['group']}/{reference['kind'].lower()}"
        obj["spec"] |= {"priorityClassName": reference["name"], "priorityClassSource": source}
    _rename(
        obj.get("status"),
        "accumulatedPastExecutionTimeSeconds",
        "accumulatedPastExexcutionTimeSeconds",
    )


def _workload_up(obj: Object) -> None:
    name = obj.get("spec", {}).pop("priorityClassName", None)
    source = obj.get("spec", {}).pop("priorityClassSource", "")
    if name:
        group = source.partition("/")[0] or "scheduling.k8s.io"
        kind = "WorkloadPriorityClass" if "workload" in source else "PriorityClass"
        obj["spec"]["priorityClassRef"] = {"group": group, "kind": kind, "name": name}
    _rename(
        obj.get("status"),
        "accumulatedPastExexcutionTimeSeconds",
        "accumulatedPastExecutionTimeSeconds",
    )


_DOWN: dict[str, Convert] = {
    "ClusterQueue": _queue_down,
    "LocalQueue": lambda obj: _rename(obj.get("status"), "flavorsUsage", "flavorUsage"),
    "Cohort": lambda obj: _rename(obj.get("spec"), "parentName", "parent"),
    "Workload": _workload_down,
}
_UP: dict[str, Convert] = {
    "ClusterQueue": _queue_up,
    "LocalQueue": lambda obj: _rename(obj.get("status"), "flavorUsage", "flavorsUsage"),
    "Cohort": lambda obj: _rename(obj.get("spec"), "parent", "parentName"),
    "Workload": _workload_up,
}
_EVENT_FIELDS = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)


def _new_event(obj: Object) -> Object:
    event = dict(obj) | {"apiVersion": "events.k8s.io/v1"}
    for old, new in _EVENT_FIELDS:
        _rename(event, old, new)
    event.setdefault("eventTime", None)
    return event


def _old_event(obj: Object) -> Object:
    event = dict(obj) | {"apiVersion": "v1"}
    for old, new in _EVENT_FIELDS:
        _rename(event, new, old)
    return event
