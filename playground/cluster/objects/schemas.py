"""Schemas of objects, as Kubernetes and the projects beside it publish them (see NOTICE)."""

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from playground.cluster.objects.kinds import Kind

Schema = dict[str, Any]
PREFIX = "#/definitions/"
_FILE = Path(__file__).with_name("published.json.gz")


def find(kind: Kind, version: str) -> Schema | None:
    """The schema of a kind in a version, or None where nobody publishes one."""
    if kind.crd is not None:
        declared: Schema | None = kind.crd.get("schema", {}).get("openAPIV3Schema")
        return declared
    if kind.custom:
        definition = custom_resources().get(kind.qualified)
        return version_of(definition, version) if definition else None
    return _built_in().get((kind.group, version, kind.kind))


def resolve(schema: Schema) -> Schema:
    """The schema behind a reference."""
    if "$ref" not in schema:
        return schema
    return definitions()[schema["$ref"].removeprefix(PREFIX)]


def definitions() -> dict[str, Schema]:
    """Kubernetes' own, by name (`io.k8s.api.batch.v1.Job`)."""
    found: dict[str, Schema] = _published()["kubernetes"]
    return found


def custom_resources() -> dict[str, Any]:
    """CustomResourceDefinitions by name (`clusterqueues.kueue.x-k8s.io`)."""
    found: dict[str, Any] = _published()["custom"]
    return found


def version_of(definition: Any, name: str) -> Schema | None:
    """The schema of one version of a CustomResourceDefinition."""
    versions = definition["spec"]["versions"]
    return next((v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == name), None)


@cache
def _published() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(gzip.decompress(_FILE.read_bytes()))
    return found


@cache
def _built_in() -> dict[tuple[str, str, str], Schema]:
    return {
        (served["group"], served["version"], served["kind"]): schema
        for schema in definitions().values()
        for served in schema.get("x-kubernetes-group-version-kind", ())
    }
