"""What of a request counts, over what it may not change."""

from typing import Any

from playground.cluster.objects.kinds import Kind, Object

_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def decoded(body: Object) -> Object:
    """What is left of JSON that was read into typed fields: null is no value."""
    return {
        name: value if name == "status" else _without_nulls(value) for name, value in body.items()
    }


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def merged_parts(kind: Kind, old: Object, body: Object, part: str) -> Object:
    """What a request may change, over what it may not."""
    metadata = dict(body.get("metadata") or {})
    new = dict(body)
    if part == "status":
        metadata = {**old["metadata"]}
        new = {**old, "status": body.get("status") or {}}
    elif "status" in kind.subresources:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    for name in _SYSTEM:
        metadata.pop(name, None)
        if name in old["metadata"]:
            metadata[name] = old["metadata"][name]
    metadata["name"] = body.get("metadata", {}).get("name") or old["metadata"]["name"]
    if "generation" in old["metadata"]:
        metadata["generation"] = old["metadata"]["generation"]
    if "namespace" in old["metadata"]:
        metadata["namespace"] = old["metadata"]["namespace"]
    return {**new, "apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": metadata}


def count_generation(kind: Kind, old: Object, new: Object) -> None:
    """Counts one generation more where a change is more than metadata and status."""

    def matters(obj: Object) -> dict[str, Any]:
        return {k: v for k, v in obj.items() if k not in {"metadata", "status"}}

    if kind.generations and matters(old) != matters(new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
