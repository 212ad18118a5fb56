"""Label and field selectors."""

import re
from collections.abc import Callable
from typing import Any

from playground.cluster.objects.errors import bad_request
from playground.cluster.objects.kinds import Kind, Object

Match = Callable[[Object], bool]
_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_EQUAL = re.compile(r"^\s*([^!=\s]+)\s*(==|!=|=)\s*([^\s=!]*)\s*$")
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "jobs.batch": ("status.successful",),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "workloads.kueue.x-k8s.io": ("status.admission.clusterQueue",),
}


def every_object(_: Object) -> bool:
    """The selector that selects everything."""
    return True


def label_selector(text: str) -> Match:
    """What a labelSelector query parameter selects."""
    if not text.strip():
        return every_object
    terms = [_label_term(term) for term in _split(text)]

    def matches(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(term(labels) for term in terms)

    return matches


def matches_labels(selector: Any, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector object (matchLabels, matchExpressions) selects these labels."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(e, labels) for e in selector.get("matchExpressions") or ())


def _expression(expression: Any, labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def _split(text: str) -> list[str]:
    return [term for term in re.split(r",(?![^()]*\))", text) if term.strip()]


def _label_term(term: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(term):
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(term):
        key, operator, value = found.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    bare = term.strip()
    if not re.fullmatch(r"!?\s*[A-Za-z0-9./_-]+", bare):
        raise bad_request(f"unable to parse requirement: {bare!r} is no label selector")
    if bare.startswith("!"):
        absent = bare[1:].strip()
        return lambda labels: absent not in labels
    return lambda labels: bare in labels


def field_selector(kind: Kind, text: str) -> Match:
    """What a fieldSelector query parameter selects; 400 for a field this kind has not."""
    if not text.strip():
        return every_object
    terms = [_field_term(kind, term) for term in text.split(",") if term.strip()]
    return lambda obj: all(term(obj) for term in terms)


def _field_term(kind: Kind, term: str) -> Match:
    found = _EQUAL.match(term)
    if found is None:
        raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
    path, operator, value = found.groups()
    if path not in {"metadata.name", "metadata.namespace", *_FIELDS.get(kind.qualified, ())}:
        what = kind.kind if not kind.custom else kind.qualified
        raise bad_request(
            f'Unable to find "{kind.group or "/"}{what}" that match label selector "", '
            f'field selector "{term.strip()}": field label not supported: {path}'
        )
    parts = path.split(".")
    wanted = operator != "!="
    return lambda obj: (_field(obj, parts) == value) is wanted


def _field(obj: Object, parts: list[str]) -> str:
    value: Any = obj
    for part in parts:
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value = value.get("component")
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
