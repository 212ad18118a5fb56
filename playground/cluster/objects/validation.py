"""Checks objects against their schemas: unknown fields, missing fields, wrong types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from playground.cluster.objects import schemas
from playground.cluster.objects.errors import (
    ApiError,
    Cause,
    bad_request,
    duplicate,
    invalid,
    required,
    unsupported,
    wrong,
)
from playground.cluster.objects.expressions import has_rules
from playground.cluster.objects.kinds import Kind, Object
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.schemas import Schema

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}
_GO = {"string": "string", "integer": "int32", "boolean": "bool", "array": "[]", "object": "map"}
_LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")
_NAME = re.compile(r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")


@dataclass
class Findings:
    """What was found wrong with one object."""

    unknown: list[str] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    wrong_types: list[tuple[str, str, str]] = field(default_factory=list)


class Validator:
    """Checks objects as far as schemas are known."""

    def check(self, kind: Kind, obj: Object, version: str, strictness: str = "Warn") -> list[str]:
        """The warnings about an object; raises what the API server would answer.

        Unknown fields raise 400 when strictness is "Strict", and are warnings otherwise.
        """
        found = self.findings(kind, obj, version)
        self._refuse_wrong_types(kind, obj, version, found)
        problems = [f'unknown field "{path}"' for path in found.unknown]
        if problems and strictness == "Strict":
            raise bad_request(_strict_message(kind, version, problems))
        found.causes.extend(_metadata_causes(obj))
        if has_rules(kind) and any(cause.reason in _BLOCKING for cause in found.causes):
            found.causes.append(Cause("<nil>", f"Invalid value: null: {_NOT_CHECKED}"))
        if found.causes:
            raise invalid(kind, obj["metadata"].get("name", ""), found.causes)
        return problems if strictness == "Warn" else []

    def findings(self, kind: Kind, obj: Object, version: str) -> Findings:
        """Everything the schema does not allow; nothing where no schema is known."""
        found = Findings()
        schema = schemas.find(kind, version)
        if schema is not None:
            self._object(schema, obj, "", found)
        return found

    def _refuse_wrong_types(self, kind: Kind, obj: Object, version: str, found: Findings) -> None:
        if not found.wrong_types:
            return
        path, got, wanted = found.wrong_types[0]
        if not kind.custom:
            raise bad_request(
                f'{kind.kind} in version "{version}" cannot be handled as a {kind.kind}: json: '
                f"cannot unmarshal {got} into Go struct field {kind.kind}.{path} "
                f"of type {_GO.get(wanted, wanted)}"
            )
        causes = [
            Cause(
                where, f'Invalid value: "{is_}": {where} in body must be of type {should}: "{is_}"'
            )
            for where, is_, should in found.wrong_types
        ]
        raise invalid(kind, obj["metadata"].get("name", ""), causes)

    def _value(self, schema: Schema, value: Any, path: str, found: Findings) -> None:
        schema = schemas.resolve(schema)
        if value is None:
            return
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return
        kind = schema.get("type")
        if kind is not None and not _is(value, kind) and not _quantity(schema, value):
            found.wrong_types.append((path, _json_type(value), kind))
            return
        found.causes.extend(_limits(schema, value, path))
        if isinstance(value, dict):
            self._object(schema, value, path, found)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                self._value(schema["items"], item, f"{path}[{index}]", found)

    def _object(self, schema: Schema, value: dict[str, Any], path: str, found: Findings) -> None:
        dot = f"{path}." if path else ""
        for name in schema.get("required", ()):
            if value.get(name) is None:
                found.causes.append(required(f"{dot}{name}"))
        properties = schema.get("properties", {})
        additional = schema.get("additionalProperties")
        for name, inner in value.items():
            if name in properties:
                self._value(properties[name], inner, f"{dot}{name}", found)
            elif isinstance(additional, dict):
                self._value(additional, inner, f"{dot}{name}", found)
            elif not _open(schema) and path != "metadata" and dot + name not in _ALWAYS:
                found.unknown.append(f"{dot}{name}")


_ALWAYS = {"apiVersion", "kind", "metadata"}
_BLOCKING = frozenset(
    {
        "FieldValueRequired",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
    }
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def _open(schema: Schema) -> bool:
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties"):
        return True
    return "properties" not in schema


def _quantity(schema: Schema, value: Any) -> bool:
    return isinstance(value, int | float) and schema.get("format") == "quantity"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _json_type(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def _limits(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        yield unsupported(path, value, schema["enum"])
    if isinstance(value, str):
        yield from _of_text(schema, value, path)
    elif isinstance(value, list):
        yield from _of_list(schema, value, path)
    elif isinstance(value, int | float):
        if value < schema.get("minimum", value):
            words = f"{path} in body should be greater than or equal to {schema['minimum']}"
            yield wrong(path, value, words)
        if value > schema.get("maximum", value):
            words = f"{path} in body should be less than or equal to {schema['maximum']}"
            yield wrong(path, value, words)


def _of_text(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    if len(value) < schema.get("minLength", 0):
        words = f"{path} in body should be at least {schema['minLength']} chars long"
        yield wrong(path, value, words)
    if len(value) > schema.get("maxLength", len(value)):
        words = f"Too long: may not be more than {schema['maxLength']} bytes"
        yield Cause(path, words, "FieldValueTooLong")
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield wrong(path, value, f"{path} in body should match '{schema['pattern']}'")


def _of_list(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    if len(value) < schema.get("minItems", 0):
        words = f"{path} in body should have at least {schema['minItems']} items"
        yield wrong(path, len(value), words)
    if len(value) > schema.get("maxItems", len(value)):
        words = f"Too many: {len(value)}: must have at most {schema['maxItems']} items"
        yield Cause(path, words, "FieldValueTooMany")
    known: list[Any] = []
    for number, item in enumerate(value):
        key = _key_of(schema, item)
        if key is not None and key in known:
            yield duplicate(f"{path}[{number}]", key)
        known.append(key)


def _key_of(schema: Schema, item: Any) -> Any:
    """What no two items of a list may share, if anything."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map" and isinstance(item, dict):
        return {name: item.get(name) for name in schema.get("x-kubernetes-list-map-keys", ())}
    return item if kind == "set" else None


def _strict_message(kind: Kind, version: str, problems: list[str]) -> str:
    told = ", ".join(problems)
    failed = f'{kind.kind} in version "{version}" cannot be handled as a {kind.kind}'
    if kind.custom:
        return f"{failed}: {told}"
    return f"{failed}: strict decoding error: {told}"


def _metadata_causes(obj: Object) -> Iterator[Cause]:
    metadata = obj["metadata"]
    for field_name in ("labels", "annotations"):
        for key, value in (metadata.get(field_name) or {}).items():
            if not isinstance(value, str):
                raise bad_request(f"metadata.{field_name}.{key}: must be a string")
    for value in (metadata.get("labels") or {}).values():
        if not _LABEL_VALUE.match(value):
            yield Cause(
                "metadata.labels",
                f'Invalid value: "{value}": a valid label must be an empty string or consist of '
                "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                "alphanumeric character",
            )


def check_name(kind: Kind, name: str) -> None:
    """Raises 422 for a name that is no DNS name (RBAC names may hold colons)."""
    if kind.group.startswith("rbac.") or _NAME.match(name):
        return
    raise invalid(
        kind,
        name,
        [
            Cause(
                "metadata.name",
                f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower '
                "case alphanumeric characters, '-' or '.', and must start and end with an "
                "alphanumeric character",
            )
        ],
    )


def check_quantities(kind: Kind, name: str, values: dict[str, Any], path: str) -> None:
    """Raises 400 for resources that are not quantities, as the decoder does."""
    for resource, value in values.items():
        try:
            parse_quantity(value)
        except ValueError as error:
            raise ApiError(
                400,
                "BadRequest",
                f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: quantities must '
                f"match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' "
                f"({name}: {path}.{resource})",
            ) from error
