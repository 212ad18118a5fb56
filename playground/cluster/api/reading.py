"""GET: one object, or a list in pages, in the form the client asked for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import orjson

from playground.cluster.api.answers import Answer, Call, answer
from playground.cluster.api.paths import Target
from playground.cluster.api.tables import META, metadata_only, table
from playground.cluster.objects.conversion import kept_as, to_version
from playground.cluster.objects.errors import ApiError, bad_request, not_found
from playground.cluster.objects.kinds import NEW_EVENT, Kind, Object
from playground.cluster.objects.selectors import (
    Match,
    every_object,
    field_selector,
    label_selector,
)
from playground.cluster.objects.store import Entry, Store, key_of


def selector_of(target: Target, call: Call) -> Match:
    """What the selectors of a request select."""
    labels = label_selector(call.query.get("labelSelector", ""))
    fields = field_selector(kept_as(target.kind), call.query.get("fieldSelector", ""))
    if labels is every_object:
        return fields
    if fields is every_object:
        return labels
    return lambda obj: labels(obj) and fields(obj)


def read_one(store: Store, target: Target, call: Call, now: datetime) -> Answer:
    """One object; 404 if there is none."""
    kind = kept_as(target.kind)
    entry = store.entry(kind.qualified, (target.namespace, target.name))
    if entry is None:
        raise not_found(kind, target.name)
    if _is_plain(target, call):
        return Answer(200, entry.raw)
    return answer(shown(target, call, entry.obj, now))


def read_list(store: Store, target: Target, call: Call, now: datetime) -> Answer:
    """The objects a request selects."""
    entries = store.entries(kept_as(target.kind), target.namespace)
    entries, metadata = _page(store, entries, selector_of(target, call), call)
    if _is_plain(target, call):
        return Answer(200, _joined(target, entries, metadata))
    objects = [to_version(target.kind, target.version, entry.obj) for entry in entries]
    if "as=Table" in call.accepts:
        include = call.query.get("includeObject", "Metadata")
        return answer(table(target.kind, objects, metadata, now, include))
    if "as=PartialObjectMetadataList" in call.accepts:
        items = [metadata_only(obj) for obj in objects]
        body = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": META,
            "metadata": metadata,
            "items": items,
        }
        return answer(body)
    return answer({**_head(target, metadata), "items": objects})


def shown(target: Target, call: Call, obj: Object, now: datetime) -> Object:
    """One object in the version and form the client asked for."""
    converted = to_version(target.kind, target.version, obj)
    if "as=Table" in call.accepts:
        metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        include = call.query.get("includeObject", "Metadata")
        return table(target.kind, [converted], metadata, now, include)
    if "as=PartialObjectMetadata" in call.accepts:
        return metadata_only(converted)
    return converted


def raw_or_shown(target: Target, call: Call, entry: Entry, now: datetime) -> bytes:
    """The JSON of one object in the form the client asked for."""
    if _is_plain(target, call):
        return entry.raw
    return orjson.dumps(shown(target, call, entry.obj, now))


def _is_plain(target: Target, call: Call) -> bool:
    stored = target.version == target.kind.version and target.kind.group != NEW_EVENT.group
    return stored and "as=" not in call.accepts


def _head(target: Target, metadata: dict[str, Any]) -> Object:
    kind: Kind = target.kind
    return {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.in_version(target.version),
        "metadata": metadata,
    }


def _joined(target: Target, entries: Sequence[Entry], metadata: dict[str, Any]) -> bytes:
    head = orjson.dumps(_head(target, metadata))[:-1]
    return b"".join((head, b',"items":[', b",".join([entry.raw for entry in entries]), b"]}"))


def _page(
    store: Store, entries: Sequence[Entry], selects: Match, call: Call
) -> tuple[list[Entry], dict[str, Any]]:
    """What is selected of them, as far as the page goes; the rest is not looked at."""
    version = store.version
    token = call.query.get("continue")
    if token:
        version, start = _read_token(store, token)
        entries = entries[bisect_right(entries, start, key=lambda entry: key_of(entry.obj)) :]
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    limit = int(call.query.get("limit") or 0)
    selected = (entry for entry in entries if selects(entry.obj))
    page = list(islice(selected, limit or None))
    if limit and next(selected, None) is not None:
        last = key_of(page[-1].obj)
        made = orjson.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": list(last)})
        metadata["continue"] = urlsafe_b64encode(made).decode().rstrip("=")
        if selects is every_object:
            metadata["remainingItemCount"] = len(entries) - limit
    return page, metadata


def _read_token(store: Store, token: str) -> tuple[int, tuple[str, str]]:
    try:
        read = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        version, (space, name) = int(read["rv"]), read["start"]
    except (ValueError, KeyError) as error:
        raise bad_request("continue key is not valid") from error
    if version < store.oldest:
        raise ApiError(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. You "
            "can start a new list without the continue parameter, or use the continue token in "
            "this response to retrieve the remainder of the results.",
        )
    return version, (space, name)
