"""Objects as tables and as metadata only, which is how kubectl prints them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from playground.cluster.control.loop import moment_of
from playground.cluster.objects.conditions import condition, is_true
from playground.cluster.objects.jobs import finished
from playground.cluster.objects.kinds import Kind, Object

Cells = Callable[[Object, datetime], list[Any]]
META = "meta.k8s.io/v1"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def metadata_only(obj: Object) -> Object:
    """An object's metadata, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}


def table(
    kind: Kind, objects: list[Object], metadata: dict[str, Any], now: datetime, include: str
) -> Object:
    """Objects as a Table; `include` says whether rows carry Metadata, the Object, or None."""
    columns, cells = _COLUMNS.get(kind.qualified, (("Name", "Age"), _plain))
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": [_column(name) for name in columns],
        "rows": [_row(obj, cells(obj, now), include) for obj in objects],
    }


def _column(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "string",
        "format": "name" if name == "Name" else "",
        "description": "",
        "priority": 0,
    }


def _row(obj: Object, cells: list[Any], include: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": cells}
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = metadata_only(obj)
    return row


def age(text: str | None, now: datetime) -> str:
    """How long ago that was, as kubectl says it."""
    if not text:
        return "<unknown>"
    return duration((now - moment_of(text)).total_seconds())


def duration(seconds: float) -> str:
    """A span as kubectl says it: 45s, 3m12s, 5h, 2d."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        rest = whole % _MINUTE
        return (
            f"{whole // _MINUTE}m{rest}s"
            if whole < 10 * _MINUTE and rest
            else f"{whole // _MINUTE}m"
        )
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    return f"{whole // _DAY}d"


def _plain(obj: Object, now: datetime) -> list[Any]:
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"), now)]


def _pod(obj: Object, now: datetime) -> list[Any]:
    rows = obj["status"].get("containerStatuses", [])
    ready = sum(row["ready"] for row in rows)
    restarts = sum(row["restartCount"] for row in rows)
    name, old = _plain(obj, now)
    total = len(obj["spec"]["containers"])
    return [name, f"{ready}/{total}", pod_word(obj), restarts, old]


def pod_word(obj: Object) -> str:
    """What kubectl calls a pod's status."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for row in obj["status"].get("containerStatuses", []):
        for state in ("waiting", "terminated"):
            if state in row["state"]:
                word: str = row["state"][state]["reason"]
                return word
    phase: str = obj["status"].get("phase", "Unknown")
    return phase


def _job(obj: Object, now: datetime) -> list[Any]:
    status, spec = obj.get("status", {}), obj["spec"]
    name, old = _plain(obj, now)
    word = finished(obj) or ("Suspended" if is_true(obj, "Suspended") else "Running")
    done = f"{status.get('succeeded', 0)}/{spec.get('completions') or 1}"
    took = ""
    if status.get("startTime"):
        failed = condition(obj, "Failed") or {}
        end = status.get("completionTime") or failed.get("lastTransitionTime")
        until = moment_of(end) if end else now
        took = duration((until - moment_of(status["startTime"])).total_seconds())
    return [name, word, done, took, old]


def _node(obj: Object, now: datetime) -> list[Any]:
    name, old = _plain(obj, now)
    word = "Ready" if is_true(obj, "Ready") else "NotReady"
    if (obj.get("spec") or {}).get("unschedulable"):
        word += ",SchedulingDisabled"
    return [name, word, "<none>", old, obj["status"]["nodeInfo"]["kubeletVersion"]]


def _event(obj: Object, now: datetime) -> list[Any]:
    about = obj["involvedObject"]
    seen = age(obj.get("lastTimestamp"), now)
    place = f"{about['kind'].lower()}/{about['name']}"
    return [seen, obj["type"], obj["reason"], place, obj["message"]]


def _phase(obj: Object, now: datetime) -> list[Any]:
    name, old = _plain(obj, now)
    return [name, obj["status"]["phase"], old]


def _cluster_queue(obj: Object, now: datetime) -> list[Any]:
    name, old = _plain(obj, now)
    status = obj.get("status", {})
    return [name, obj["spec"].get("cohortName", ""), status.get("pendingWorkloads", 0), old]


def _local_queue(obj: Object, now: datetime) -> list[Any]:
    name, old = _plain(obj, now)
    status = obj.get("status", {})
    pending, admitted = status.get("pendingWorkloads", 0), status.get("admittedWorkloads", 0)
    return [name, obj["spec"].get("clusterQueue", ""), pending, admitted, old]


def _workload(obj: Object, now: datetime) -> list[Any]:
    name, old = _plain(obj, now)
    reserved = obj.get("status", {}).get("admission", {}).get("clusterQueue", "")
    admitted = (condition(obj, "Admitted") or {}).get("status", "")
    ended = (condition(obj, "Finished") or {}).get("status", "")
    return [name, obj["spec"].get("queueName", ""), reserved, admitted, ended, old]


_COLUMNS: dict[str, tuple[tuple[str, ...], Cells]] = {
    "pods": (("Name", "Ready", "Status", "Restarts", "Age"), _pod),
    "jobs.batch": (("Name", "Status", "Completions", "Duration", "Age"), _job),
    "nodes": (("Name", "Status", "Roles", "Age", "Version"), _node),
    "events": (("Last Seen", "Type", "Reason", "Object", "Message"), _event),
    "namespaces": (("Name", "Status", "Age"), _phase),
    "persistentvolumeclaims": (("Name", "Status", "Age"), _phase),
    "clusterqueues.kueue.x-k8s.io": (
        ("Name", "Cohort", "Pending Workloads", "Age"),
        _cluster_queue,
    ),
    "localqueues.kueue.x-k8s.io": (
        ("Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads", "Age"),
        _local_queue,
    ),
    "workloads.kueue.x-k8s.io": (
        ("Name", "Queue", "Reserved in", "Admitted", "Finished", "Age"),
        _workload,
    ),
}
