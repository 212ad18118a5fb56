"""The rules that definitions of custom resources state in CEL (`x-kubernetes-validations`)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from cel_expr_python import cel

from playground.cluster.objects import schemas
from playground.cluster.objects.errors import Cause, required, wrong
from playground.cluster.objects.kinds import Kind, Object
from playground.cluster.objects.schemas import Schema

_ENVIRONMENT = cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})
_RULES = "x-kubernetes-validations"
_NO_KEY = re.compile(r'Key not found in map : "(.*)"')
_ESCAPED = {"namespace": "__namespace__"}


@dataclass(frozen=True)
class _Part:
    """One part of an object: its schema, what it is and was, and where."""

    schema: Schema
    value: Any
    old: Any
    path: str


def broken_rules(kind: Kind, obj: Object, old: Object | None) -> list[Cause]:
    """What the rules of a custom resource's definition say against an object, or a change."""
    if not has_rules(kind):
        return []
    return list(_of_part(_Part(schemas.find(kind, kind.version) or {}, obj, old, "")))


def has_rules(kind: Kind) -> bool:
    """Whether the definition of a kind states any."""
    return kind.custom and kind.crd is None and _states_rules(kind)


def _of_part(part: _Part) -> Iterator[Cause]:
    if part.value is None:
        return
    for rule in part.schema.get(_RULES, ()):
        yield from _of_rule(rule, part)
    for inner in _inner(part):
        yield from _of_part(inner)


def _inner(part: _Part) -> Iterator[_Part]:
    schema, value = part.schema, part.value
    if isinstance(value, list):
        # A list is compared item by item only where its schema says what names them.
        before = _by_key(schema, part.old)
        for number, item in enumerate(value):
            known = before.get(_key(schema, item))
            yield _Part(schema.get("items", {}), item, known, f"{part.path}[{number}]")
    elif isinstance(value, dict):
        old = part.old if isinstance(part.old, dict) else {}
        named, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            known = named.get(name, others)
            if isinstance(known, dict):
                where = f"{part.path}.{name}" if part.path else name
                yield _Part(known, item, old.get(name), where)


def _of_rule(rule: dict[str, Any], part: _Part) -> Iterator[Cause]:
    compares = "oldSelf" in rule["rule"]
    if compares and part.old is None:
        return
    if not compares and part.old is not None and part.old == part.value:
        return  # what was let in before its rule came may stay as it is
    found = _compiled(rule["rule"]).eval(
        data={"self": _plain(part.value), "oldSelf": _plain(part.old)}
    )
    if found.value() is True:
        return
    where = (part.path or "<nil>") + str(rule.get("fieldPath", ""))
    if found.type() == cel.Type.ERROR:
        words = f"{_fault(str(found.value()))} evaluating rule: "
        yield wrong(where, part.schema.get("type", ""), words + rule.get("message", rule["rule"]))
        return
    yield _cause(rule, part, where)


def _cause(rule: dict[str, Any], part: _Part, where: str) -> Cause:
    message = rule.get("message") or f"failed rule: {rule['rule'].strip()}"
    if rule.get("reason") == "FieldValueRequired":
        return required(where, message)
    if isinstance(part.value, dict | list):
        return Cause(where, f"Invalid value: {message}")
    return wrong(where, part.value, message)


def _fault(said: str) -> str:
    """Why a rule could not be evaluated, as the API server's own library says it."""
    missing = _NO_KEY.search(said)
    return f"no such key: {missing[1]}" if missing else said


def _plain(value: Any) -> Any:
    """A value under the names that rules use: what CEL itself means by a name is escaped."""
    if isinstance(value, dict):
        return {_ESCAPED.get(name, name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _by_key(schema: Schema, old: Any) -> dict[Any, Any]:
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {_key(schema, item): item for item in old}


def _key(schema: Schema, item: Any) -> Any:
    if not isinstance(item, dict):
        return None
    return tuple(item.get(name) for name in schema.get("x-kubernetes-list-map-keys", ()))


@cache
def _compiled(rule: str) -> cel.Expression:
    return _ENVIRONMENT.compile(rule)


@cache
def _states_rules(kind: Kind) -> bool:
    return _RULES in str(schemas.find(kind, kind.version))
