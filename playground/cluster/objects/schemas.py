"""Schemas of objects, from the published OpenAPI document and CustomResourceDefinitions."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import yaml

from playground.cluster.objects.kinds import Kind

Schema = dict[str, Any]
PREFIX = "#/definitions/"


class Schemas:
    """The schema of each kind and version, read when it is first needed."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder if folder is not None and folder.is_dir() else None

    def find(self, kind: Kind, version: str) -> Schema | None:
        """The schema of a kind in a version, or None where nothing is known."""
        if kind.crd is not None:
            return _custom_schema(kind.crd)
        if self._folder is None:
            return None
        if kind.custom:
            versions = _published(self._folder / "crds" / f"{kind.qualified}.yaml")
            return next((v for name, v in versions if name == version), None)
        path = self._folder / "kubernetes-openapi.json"
        return _built_in(path).get((kind.group, version, kind.kind)) if path.is_file() else None

    def resolve(self, schema: Schema) -> Schema:
        """The schema behind a reference."""
        if "$ref" not in schema or self._folder is None:
            return schema
        return _definitions(self._folder / "kubernetes-openapi.json")[
            schema["$ref"].removeprefix(PREFIX)
        ]


def _custom_schema(version: Any) -> Schema | None:
    found: Schema | None = version.get("schema", {}).get("openAPIV3Schema")
    return found


@lru_cache(maxsize=64)
def _published(path: Path) -> list[tuple[str, Schema]]:
    if not path.is_file():
        return []
    definition = yaml.load(path.read_bytes(), Loader=_LOADER)  # noqa: S506 -- a safe loader
    return [
        (version["name"], version["schema"]["openAPIV3Schema"])
        for version in definition["spec"]["versions"]
    ]


@lru_cache(maxsize=4)
def _definitions(path: Path) -> dict[str, Schema]:
    found: dict[str, Schema] = orjson.loads(path.read_bytes())["definitions"]
    return found


@lru_cache(maxsize=4)
def _built_in(path: Path) -> dict[tuple[str, str, str], Schema]:
    return {
        (served["group"], served["version"], served["kind"]): schema
        for schema in _definitions(path).values()
        for served in schema.get("x-kubernetes-group-version-kind", ())
    }


# The C loader reads the Workload schema in a tenth of the time of the Python one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
