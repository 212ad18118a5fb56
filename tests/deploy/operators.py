"""Definitions of other operators' kinds that the chart can make, from the operators' Go modules.

`python -m tests.deploy.operators` downloads them unless they are kept, and prints their folder.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.building import BuildError, go, keeping_place, made_once

# Module, its version, its checksum as in go.sum, and the files with the definitions.
_MODULES = (
    (
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        (
            "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        ),
    ),
    (
        "sigs.k8s.io/gateway-api",
        "v1.5.0",
        "h1:duoo14Ky/fJXpjpmyMISE2RTBGnfCg8zICfTYLTnBJA=",
        ("config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",),
    ),
    (
        "github.com/external-secrets/external-secrets",
        "v1.3.2",
        "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=",
        ("config/crds/bases/external-secrets.io_externalsecrets.yaml",),
    ),
)


def definitions() -> list[dict[str, Any]]:
    """The kept CustomResourceDefinitions; none if they were not downloaded."""
    return [yaml.safe_load(path.read_bytes()) for path in sorted(_folder().glob("*.yaml"))]


def _folder() -> Path:
    return keeping_place("operators", repr(_MODULES).encode())


def _make(folder: Path) -> None:
    for module, version, checksum, files in _MODULES:
        said = json.loads(go("mod", "download", "-json", f"{module}@{version}", source=folder))
        if said["Sum"] != checksum:
            raise BuildError(f"{module} {version} has the checksum {said['Sum']}, not {checksum}")
        for name in files:
            path = Path(said["Dir"]) / name
            (folder / path.name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{made_once(_folder(), _make)}\n")
    except BuildError as error:
        sys.exit(str(error))
