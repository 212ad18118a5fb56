"""Conditions in the status of objects."""

from datetime import datetime
from typing import Any

from playground.cluster.objects.kinds import Object
from playground.cluster.objects.operations import stamp


def condition(obj: Object, kind: str) -> dict[str, Any] | None:
    """The condition of this type, or None."""
    rows = (obj.get("status") or {}).get("conditions") or ()
    return next((row for row in rows if row["type"] == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    """Whether the condition of this type is there and true."""
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def set_condition(
    obj: Object, kind: str, *, status: bool, why: tuple[str, str], now: datetime
) -> dict[str, Any]:
    """Sets a condition with (reason, message) in place; its time moves only with its status."""
    rows = obj.setdefault("status", {}).setdefault("conditions", [])
    row = next((row for row in rows if row["type"] == kind), None)
    if row is None:
        row = {"type": kind, "status": "", "lastTransitionTime": stamp(now)}
        rows.append(row)
    word = "True" if status else "False"
    if row["status"] != word:
        row["lastTransitionTime"] = stamp(now)
    row |= {"status": word, "reason": why[0], "message": why[1]}
    return dict(row)
