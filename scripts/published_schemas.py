"""Writes the published schemas that the playground and the tests check objects against.

Usage: published_schemas.py FOLDER playground/cluster/objects/published.json.gz

The folder has kubernetes-openapi.json (Kubernetes' OpenAPI document) and CustomResourceDefinitions
in crds/*.yaml and crds/alternates/*.yaml; NOTICE says where each is published. Descriptions are
left out: they are nine tenths of it, and check nothing.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import yaml

_GROUPS = (
    "kueue.x-k8s.io",
    "scheduling.run.ai",
    "jobset.x-k8s.io",
    "trainer.kubeflow.org",
    "snapshot.storage.k8s.io",
)
_ALSO = (
    "mpijobs.kubeflow.org",
    "pytorchjobs.kubeflow.org",
    "rayclusters.ray.io",
    "rayjobs.ray.io",
)
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def published(folder: Path) -> dict[str, Any]:
    """Kubernetes' definitions and CustomResourceDefinitions, both by name."""
    openapi = json.loads((folder / "kubernetes-openapi.json").read_bytes())
    kubernetes = {name: bare(each) for name, each in openapi["definitions"].items()}
    # Its description alone says that a number is one, too.
    kubernetes[_QUANTITY] = {"type": "string", "format": "quantity"}
    custom: dict[str, Any] = {}
    for path in sorted((folder / "crds").rglob("*.yaml")):
        definition = bare(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader))
        name, spec = definition["metadata"]["name"], definition["spec"]
        if spec["group"] in _GROUPS or name in _ALSO:
            # Two operators serve MPIJob, each in a version of its own.
            known = custom.setdefault(name, definition)
            if known is not definition:
                known["spec"]["versions"] += spec["versions"]
    return {"kubernetes": kubernetes, "custom": custom}


def bare(schema: Any) -> Any:
    """A schema without the text that describes it."""
    if isinstance(schema, list):
        return [bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # A field may be called description; then it is a schema, not text.
    return {
        name: bare(each)
        for name, each in schema.items()
        if name != "description" or not isinstance(each, str)
    }


if __name__ == "__main__":
    text = json.dumps(published(Path(sys.argv[1])), separators=(",", ":"), sort_keys=True)
    Path(sys.argv[2]).write_bytes(gzip.compress(text.encode(), mtime=0))
