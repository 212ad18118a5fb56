"""POST, PUT, PATCH and DELETE."""

from collections.abc import Callable
from typing import Any

from playground.cluster.api.answers import Answer, Call, answer, success
from playground.cluster.api.paths import Target
from playground.cluster.api.reading import selector_of, shown
from playground.cluster.inside import Inside
from playground.cluster.objects.conversion import from_version, kept_as, to_version
from playground.cluster.objects.deletion import DeleteOptions
from playground.cluster.objects.errors import (
    ApiError,
    Cause,
    bad_request,
    invalid,
    method_not_allowed,
    not_found,
)
from playground.cluster.objects.kinds import POD, Kind, Object
from playground.cluster.objects.patches import (
    APPLY,
    JSON,
    MERGE,
    STRATEGIC,
    json_patch,
    merge_patch,
    strategic_patch,
)
from playground.cluster.objects.store import Key, key_of

Patcher = Callable[[Any, Any], Any]
_PATCHERS: dict[str, Patcher] = {
    MERGE: merge_patch,
    STRATEGIC: strategic_patch,
    JSON: json_patch,
}


def create(inside: Inside, target: Target, call: Call) -> Answer:
    """POST to a collection."""
    if target.name:
        raise method_not_allowed()
    if "protobuf" in call.content_type:
        raise _unsupported(call.content_type, target.kind)
    body = _object(target, call.json())
    options = call.options(target.version)
    if target.kind.version != target.version:
        inside.validator.check(target.kind, body, target.version, options.strictness)
    kept = from_version(target.kind, target.version, body)
    made = inside.operations.create(kept_as(target.kind), target.namespace, kept, options)
    return answer(shown(target, call, made, inside.loop.present), 201)


def update(inside: Inside, target: Target, call: Call) -> Answer:
    """PUT of one object or its status."""
    if not target.name:
        raise method_not_allowed()
    body = _object(target, call.json())
    sent = body["metadata"].get("name", "")
    if sent != target.name:
        raise bad_request(
            f"the name of the object ({sent}) does not match the name on the URL ({target.name})"
        )
    kept = from_version(target.kind, target.version, body)
    options = call.options(target.version)
    done = inside.operations.update(
        kept_as(target.kind), target.namespace, kept, options, target.part
    )
    return answer(shown(target, call, done, inside.loop.present))


def patch(inside: Inside, target: Target, call: Call) -> Answer:
    """PATCH of one object or its status, in any of the four types."""
    if not target.name:
        raise method_not_allowed()
    kind, key = kept_as(target.kind), (target.namespace, target.name)
    options = call.options(target.version)
    if call.content_type.startswith("application/apply-patch"):
        body = from_version(kind, target.version, _object(target, call.json()))
        done, created = inside.operations.apply(kind, key, body, options, target.part)
        return answer(shown(target, call, done, inside.loop.present), 201 if created else 200)
    patcher = _PATCHERS.get(call.content_type)
    if patcher is None or (patcher is strategic_patch and kind.custom):
        raise _unsupported(call.content_type, kind)
    sent = call.json()

    def transform(current: Object) -> Object:
        seen = to_version(kind, target.version, current)
        return from_version(kind, target.version, patcher(seen, sent))

    done = inside.operations.patch(kind, key, transform, options, target.part)
    return answer(shown(target, call, done, inside.loop.present))


def delete(inside: Inside, target: Target, call: Call) -> Answer:
    """DELETE of one object."""
    kind, key = kept_as(target.kind), (target.namespace, target.name)
    last, gone = inside.deletion.delete(kind, key, _delete_options(call))
    if kind == POD or not gone:
        return answer(to_version(target.kind, target.version, last))
    return success(_details(kind, last))


def delete_collection(inside: Inside, target: Target, call: Call) -> Answer:
    """DELETE of a collection, as far as it is selected."""
    if target.kind.namespaced and not target.namespace:
        raise method_not_allowed()
    kind, selects = kept_as(target.kind), selector_of(target, call)
    entries = inside.store.entries(kind, target.namespace)
    chosen = [entry.obj for entry in entries if selects(entry.obj)]
    for obj in chosen:
        inside.deletion.delete(kind, key_of(obj), _delete_options(call))
    body = {
        "kind": f"{target.kind.kind}List",
        "apiVersion": target.kind.in_version(target.version),
        "metadata": {"resourceVersion": str(inside.store.version)},
        "items": [to_version(target.kind, target.version, obj) for obj in chosen],
    }
    return answer(body)


def evict(inside: Inside, target: Target, call: Call) -> Answer:
    """POST of an eviction: a graceful deletion that the pod's conditions tell of."""
    key: Key = (target.namespace, target.name)
    if inside.store.get(POD, *key) is None:
        raise not_found(POD, target.name)
    options = DeleteOptions.of((call.json() or {}).get("deleteOptions") or {})
    inside.evict(key, options)
    return success({"name": target.name, "kind": "pods"}, 201)


def scale(inside: Inside, target: Target, call: Call) -> Answer:
    """GET, PUT and PATCH of the scale subresource."""
    key = (target.namespace, target.name)
    obj = inside.operations.get(target.kind, *key)
    if call.method != "GET":
        sent = call.json()
        scale_now = _scale(obj)
        if call.method == "PATCH":
            sent = _PATCHERS.get(call.content_type, merge_patch)(scale_now, sent)
        replicas = (sent.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            cause = Cause("spec.replicas", f"Invalid value: {replicas}: must be non-negative")
            raise invalid(target.kind, target.name, [cause])

        def transform(current: Object) -> Object:
            current.setdefault("spec", {})["replicas"] = replicas
            return current

        obj = inside.operations.patch(target.kind, key, transform, call.options(target.version))
    return answer(_scale(obj))


def _scale(obj: Object) -> Object:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": (obj.get("spec") or {}).get("replicas", 1)},
        "status": {"replicas": (obj.get("status") or {}).get("replicas", 0)},
    }


def _object(target: Target, body: Any) -> Object:
    if not isinstance(body, dict):
        raise bad_request("the request body is not an object")
    kind = target.kind
    wanted = kind.in_version(target.version)
    if body.get("kind", kind.kind) != kind.kind or body.get("apiVersion", wanted) != wanted:
        raise bad_request(
            f"the API version in the data ({body.get('apiVersion')}) does not match the expected "
            f"API version ({wanted})"
        )
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata is not an object")
    return {**body, "apiVersion": wanted, "kind": kind.kind, "metadata": metadata or {}}


def _delete_options(call: Call) -> DeleteOptions:
    body = call.json() or {}
    for name in ("propagationPolicy", "gracePeriodSeconds", "dryRun"):
        if name in call.query:
            value = call.query[name]
            body.setdefault(name, int(value) if name == "gracePeriodSeconds" else value)
    return DeleteOptions.of(body)


def _details(kind: Kind, last: Object) -> dict[str, Any]:
    details = {"name": last["metadata"]["name"], "kind": kind.plural}
    if kind.group:
        details["group"] = kind.group
    return details | {"uid": last["metadata"]["uid"]}


def _unsupported(content_type: str, kind: Kind) -> ApiError:
    known = [JSON, MERGE, APPLY] if kind.custom else [JSON, MERGE, STRATEGIC, APPLY]
    return ApiError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(known)} (it was {content_type})",
    )
