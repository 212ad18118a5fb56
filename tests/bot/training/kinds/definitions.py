"""What operators serve, by their own definitions, which refuse fields they do not know."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

_FOLDER = Path(__file__).parents[5] / "shared" / "references" / "crds"
needs_definitions = pytest.mark.skipif(
    not _FOLDER.exists(), reason="the operators' definitions are not here"
)


def validate(body: dict[str, Any], resource: str, version: str) -> None:
    """Nothing when the body is one of those (`pytorchjobs.kubeflow.org`)."""
    definition = yaml.safe_load((_FOLDER / f"{resource}.yaml").read_text())
    versions = definition["spec"]["versions"]
    schema = next(v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == version)
    jsonschema.validate(body, _strict(schema))


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(each) for name, each in schema.items()}
    free = "additionalProperties" in schema or "x-kubernetes-preserve-unknown-fields" in schema
    if "properties" in schema and schema.get("type") == "object" and not free:
        strict["additionalProperties"] = False
    return strict
