"""The three kinds of patches: merge, strategic merge, and JSON patch."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from playground.cluster.objects.errors import UNPROCESSABLE, ApiError, bad_request

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "conditions": "type",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "secrets": "name",
    "taints": "key",
    "addresses": "type",
    "topologySpreadConstraints": "topologyKey",
}
_PRIMITIVE_SETS = {"finalizers"}


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with an RFC 7386 patch applied; null removes."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_patch(target: Any, patch: Any) -> Any:
    """The target with a strategic merge patch applied; lists with a merge key are merged."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        _strategic_field(merged, key, value)
    return merged


def _strategic_field(merged: dict[str, Any], key: str, value: Any) -> None:
    if key.startswith(("$setElementOrder/", "$retainKeys")):
        return
    if key.startswith("$deleteFromPrimitiveList/"):
        name = key.partition("/")[2]
        merged[name] = [item for item in merged.get(name, ()) if item not in value]
    elif value is None:
        merged.pop(key, None)
    elif isinstance(value, list) and key in MERGE_KEYS:
        merged[key] = _merge_lists(merged.get(key) or [], value, MERGE_KEYS[key])
    elif isinstance(value, list) and key in _PRIMITIVE_SETS:
        present = merged.get(key) or []
        merged[key] = present + [item for item in value if item not in present]
    else:
        merged[key] = strategic_patch(merged.get(key), value)


def _merge_lists(current: list[Any], patch: list[Any], key: str) -> list[Any]:
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if item.get("$patch") != "replace"]
    merged = list(current)
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next((i for i, old in enumerate(merged) if old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            merged = [old for old in merged if old.get(key) != item[key]]
        elif at is None:
            merged.append(strategic_patch({}, item))
        else:
            merged[at] = strategic_patch(merged[at], item)
    return merged


def json_patch(target: Any, operations: Any) -> Any:
    """The target with RFC 6902 operations applied; 422 when one cannot be, as a whole."""
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    document = deepcopy(target)
    for operation in operations:
        name = operation.get("op")
        if name not in _OPERATIONS:
            raise _refused(f"Unexpected kind: {name}")
        document = _OPERATIONS[name](document, operation)
    return document


def _refused(why: str) -> ApiError:
    """What a real server answers; it does not say why, so the reason stays inside."""
    words = "the server rejected our request due to an error in our request"
    refusal = ApiError(UNPROCESSABLE, "Invalid", words)
    refusal.add_note(why)
    return refusal


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _find(document: Any, pointer: str) -> tuple[bool, Any]:
    found: Any = document
    for step in _steps(pointer):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return False, None
    return True, found


def _parent(document: Any, pointer: str, operation: str) -> tuple[Any, str]:
    there, parent = _find(document, pointer.rpartition("/")[0])
    if not there or not isinstance(parent, dict | list):
        raise _refused(
            f'{operation} operation does not apply: doc is missing path: "{pointer}": missing value'
        )
    return parent, _steps(pointer)[-1]


def _add(document: Any, operation: Any) -> Any:
    pointer, value = operation["path"], deepcopy(operation.get("value"))
    if not pointer:
        return value
    parent, step = _parent(document, pointer, "add")
    if isinstance(parent, dict):
        parent[step] = value
    elif step == "-":
        parent.append(value)
    elif step.isdigit() and int(step) <= len(parent):
        parent.insert(int(step), value)
    else:
        raise _refused(f"add operation does not apply: invalid index: {pointer}")
    return document


def _remove(document: Any, operation: Any) -> Any:
    pointer = operation["path"]
    if not _find(document, pointer)[0]:
        raise _refused(
            f"remove operation does not apply: doc is missing path: {pointer}: missing value"
        )
    parent, step = _parent(document, pointer, "remove")
    if isinstance(parent, dict):
        del parent[step]
    else:
        del parent[int(step)]
    return document


def _replace(document: Any, operation: Any) -> Any:
    pointer = operation["path"]
    if not pointer:
        return deepcopy(operation.get("value"))
    if not _find(document, pointer)[0]:
        raise _refused(
            f"replace operation does not apply: doc is missing key: {pointer}: missing value"
        )
    parent, step = _parent(document, pointer, "replace")
    parent[step if isinstance(parent, dict) else int(step)] = deepcopy(operation.get("value"))
    return document


def _test(document: Any, operation: Any) -> Any:
    there, value = _find(document, operation["path"])
    if not there and operation.get("value") is not None:
        pointer = operation["path"]
        raise _refused(f'error in test for path: "{pointer}": missing value')
    if value != operation.get("value"):
        raise _refused(f"testing value {operation['path']} failed: test failed")
    return document


def _move(document: Any, operation: Any) -> Any:
    there, value = _find(document, operation["from"])
    if not there:
        raise _refused(f"move operation does not apply: doc is missing path: {operation['from']}")
    document = _remove(document, {"path": operation["from"]})
    return _add(document, {"path": operation["path"], "value": value})


def _copy(document: Any, operation: Any) -> Any:
    there, value = _find(document, operation["from"])
    if not there:
        raise _refused(f"copy operation does not apply: doc is missing path: {operation['from']}")
    return _add(document, {"path": operation["path"], "value": value})


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
    "move": _move,
    "copy": _copy,
}
