"""Who owns which field: server-side apply and its conflicts, over paths of leaves."""

from copy import deepcopy
from typing import Any

from playground.cluster.objects.errors import ApiError
from playground.cluster.objects.kinds import Object
from playground.cluster.objects.patches import MERGE_KEYS

Path = tuple[str, ...]
_UNOWNED = {
    ("apiVersion",),
    ("kind",),
    *(("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion", "generation")),
    ("metadata", "creationTimestamp"),
    ("metadata", "managedFields"),
}


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """The leaves of an object by path; items of keyed lists are addressed by their key."""
    if path in _UNOWNED:
        return {}
    if isinstance(value, dict) and value:
        return {
            p: v for name, inner in value.items() for p, v in leaves(inner, (*path, name)).items()
        }
    key = MERGE_KEYS.get(path[-1]) if path else None
    if key and isinstance(value, list) and all(isinstance(i, dict) and key in i for i in value):
        return {
            p: v for item in value for p, v in leaves(item, (*path, f"k:{key}={item[key]}")).items()
        }
    return {path: value}


def applied(live: Object, wanted: Object, manager: str, *, force: bool) -> Object:
    """The live object with an applied configuration laid over it; 409 if others own a field."""
    mine = leaves(wanted)
    current = leaves(live)
    others = _owners(live, manager)
    taken = [
        path
        for path, value in mine.items()
        if path in others and path in current and current[path] != value
    ]
    if taken and not force:
        raise _conflict(taken, others)
    merged = overlay(live, wanted)
    before = _paths(live, manager, "Apply")
    for path in before - set(mine):
        if path not in others:
            _drop(merged, path)
    return _record(merged, manager, "Apply", set(mine), taken)


def noted(old: Object | None, new: Object, manager: str) -> Object:
    """The new state of an object with the changed fields owned by the writer."""
    before = leaves(old) if old else {}
    changed = {path for path, value in leaves(new).items() if before.get(path) != value}
    changed = {path for path in changed if path[0] != "status"}
    if not changed:
        return new
    kept = _paths(new, manager, "Update") | changed
    return _record(new, manager, "Update", kept, sorted(changed))


def overlay(live: Any, wanted: Any, name: str = "") -> Any:
    """Live with wanted merged over it: maps deeply, keyed lists by key, other lists replaced."""
    if isinstance(live, dict) and isinstance(wanted, dict):
        merged = deepcopy(live)
        for key, value in wanted.items():
            merged[key] = overlay(live.get(key), value, key) if key in live else deepcopy(value)
        return merged
    key_name = MERGE_KEYS.get(name)
    if key_name and isinstance(live, list) and isinstance(wanted, list):
        return _overlay_lists(live, wanted, key_name)
    return deepcopy(wanted)


def _overlay_lists(live: list[Any], wanted: list[Any], key: str) -> list[Any]:
    merged = deepcopy(live)
    places = {item.get(key): index for index, item in enumerate(merged)}
    for item in wanted:
        place = places.get(item.get(key))
        if place is None:
            merged.append(deepcopy(item))
        else:
            merged[place] = overlay(merged[place], item)
    return merged


def _fields(paths: set[Path]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step if step.startswith("k:") else f"f:{step}", {})
    return tree


def _unfold(tree: dict[str, Any], path: Path = ()) -> set[Path]:
    if not tree:
        return {path} if path else set()
    return {
        found
        for step, inner in tree.items()
        for found in _unfold(inner, (*path, step.removeprefix("f:")))
    }


def _rows(obj: Object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = obj["metadata"].get("managedFields") or []
    return rows


def _paths(obj: Object, manager: str, operation: str) -> set[Path]:
    return {
        path
        for row in _rows(obj)
        if row["manager"] == manager and row["operation"] == operation
        for path in _unfold(row["fieldsV1"])
    }


def _owners(obj: Object, manager: str) -> dict[Path, str]:
    return {
        path: row["manager"]
        for row in _rows(obj)
        if row["manager"] != manager
        for path in _unfold(row["fieldsV1"])
    }


def _record(
    obj: Object, manager: str, operation: str, paths: set[Path], taken: list[Path]
) -> Object:
    rows = []
    for row in _rows(obj):
        if row["manager"] == manager and row["operation"] == operation:
            continue
        left = _unfold(row["fieldsV1"]) - (set(taken) if row["manager"] != manager else set())
        if left:
            rows.append({**row, "fieldsV1": _fields(left)})
    if paths:
        row = {
            "manager": manager,
            "operation": operation,
            "apiVersion": obj["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": _fields(paths),
        }
        rows.append(row)
    obj["metadata"]["managedFields"] = rows
    return obj


def _drop(obj: Any, path: Path) -> None:
    holder: Any = obj
    for step in path[:-1]:
        holder = holder.get(step) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder.pop(path[-1], None)


def _conflict(taken: list[Path], others: dict[Path, str]) -> ApiError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{others[path]}" using v1',
            "field": "." + ".".join(path),
        }
        for path in taken
    ]
    told = ", ".join(str(cause["field"]) for cause in causes)
    plural = "s" if len(taken) > 1 else ""
    message = (
        f"Apply failed with {len(taken)} conflict{plural}: "
        f'conflict{plural} with "{others[taken[0]]}": {told}'
    )
    return ApiError(409, "Conflict", message, {"causes": causes})
