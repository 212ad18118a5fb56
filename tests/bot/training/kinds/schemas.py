"""Kubernetes' own schema, which refuses fields it does not know."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

_DOCUMENT = Path(__file__).parents[5] / "shared" / "references" / "kubernetes-openapi.json"
needs_the_schema = pytest.mark.skipif(
    not _DOCUMENT.exists(), reason="Kubernetes' OpenAPI document is not here"
)


def validate(body: dict[str, Any], definition: str) -> None:
    """Nothing when the body is one of those (`batch.v1.Job`)."""
    reference = {"$ref": f"#/definitions/io.k8s.api.{definition}", "definitions": _definitions()}
    jsonschema.Draft4Validator(reference).validate(body)


@cache
def _definitions() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_DOCUMENT.read_bytes())["definitions"]
    for definition in found.values():
        if "properties" in definition:
            definition.setdefault("additionalProperties", False)
        if definition.get("format") == "int-or-string":
            definition["type"] = ["string", "integer"]
    return found
