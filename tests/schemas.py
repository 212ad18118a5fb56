"""Published schemas as tests want them: a field that they do not know is an error."""

from functools import cache
from typing import Any

import jsonschema

from playground.cluster.objects import schemas


def fits(body: dict[str, Any], definition: str) -> None:
    """Raises unless the body is one of Kubernetes' own kinds (`batch.v1.Job`)."""
    _check(body, f"io.k8s.api.{definition}")


def fits_its_kind(body: dict[str, Any]) -> None:
    """Raises unless the body is what its apiVersion and kind say, one of Kubernetes' own."""
    group, _, version = body["apiVersion"].rpartition("/")
    asked = {"group": group, "kind": body["kind"], "version": version}
    _check(
        body,
        next(
            name
            for name, definition in _definitions().items()
            if asked in definition.get("x-kubernetes-group-version-kind", ())
        ),
    )


def fits_custom(body: dict[str, Any], resource: str, version: str) -> None:
    """Raises unless the body is such a custom resource (`pytorchjobs.kubeflow.org`)."""
    _custom(resource, version).validate(body)


def _check(body: dict[str, Any], definition: str) -> None:
    reference = {"$ref": f"{schemas.PREFIX}{definition}", "definitions": _definitions()}
    jsonschema.Draft4Validator(reference).validate(body)


@cache
def _custom(resource: str, version: str) -> jsonschema.Draft202012Validator:
    """What checks such custom resources; their schemas, of a megabyte, are not checked in turn."""
    schema = schemas.version_of(schemas.custom_resources()[resource], version)
    return jsonschema.Draft202012Validator(_strict(schema))


@cache
def _definitions() -> dict[str, Any]:
    found: dict[str, Any] = _strict(schemas.definitions())
    for definition in found.values():
        if definition.get("format") == "int-or-string":
            definition["type"] = ["string", "integer"]
    return found


def _strict(schema: Any) -> Any:
    """The schema, made to refuse keys it does not know, as an API server drops them."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(each) for name, each in schema.items()}
    free = "additionalProperties" in schema or "x-kubernetes-preserve-unknown-fields" in schema
    if "properties" in schema and schema.get("type") == "object" and not free:
        strict["additionalProperties"] = False
    return strict
