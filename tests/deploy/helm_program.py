"""Helm, built once from its Go module and kept in the folder of caches.

`python -m tests.deploy.helm_program` builds it unless it is kept, and prints its path.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.building import BuildError, go, keeping_place, made_once

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "quartermaster"
_SOURCE = Path(__file__).parent / "helm"
_MODULE = "helm.sh/helm/v4"
RELEASE = "quartermaster"
_FOLDERS: Sequence[str] = ("CACHE", "CONFIG", "DATA")
_SECONDS = 120.0


class HelmError(Exception):
    """Helm refused; its message says why."""


class Helm:
    """The program, with folders of its own instead of those of whoever runs it."""

    def __init__(self, program: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self._program, self._kubeconfig = program, kubeconfig
        folders = {f"HELM_{each}_HOME": str(home / each.lower()) for each in _FOLDERS}
        environment = dict(os.environ)  # noqa: TID251  # Helm needs a PATH and proxies
        self._rendered: dict[str, str] = {}
        self._environment = environment | folders | {"HELM_NO_PLUGINS": "1"}

    def run(self, *arguments: str, values: Mapping[str, Any] | None = None) -> str:
        """What a command prints; HelmError with what it says if it fails."""
        given = ("-f", "-") if values is not None else ()
        at = ("--kubeconfig", str(self._kubeconfig)) if self._kubeconfig else ()
        done = subprocess.run(
            [self._program, *arguments, *given, *at],
            input=yaml.safe_dump(values) if values is not None else None,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout

    def rendered(
        self, values: Mapping[str, Any], release: str = RELEASE, namespace: str = RELEASE
    ) -> str:
        """All that the chart makes of these values, as `helm template` prints it."""
        asked = ("template", release, str(CHART), "--namespace", namespace)
        key = yaml.safe_dump([*asked, dict(values)])
        if key not in self._rendered:
            self._rendered[key] = self.run(*asked, values=values)
        return self._rendered[key]

    def objects(
        self, values: Mapping[str, Any], release: str = RELEASE, namespace: str = RELEASE
    ) -> list[dict[str, Any]]:
        """The same as objects."""
        documents = yaml.safe_load_all(self.rendered(values, release, namespace))
        return [each for each in documents if each]


def kept() -> Path | None:
    """The program if it was built before from the same sources."""
    program = _folder() / "bin" / "helm"
    return program if program.exists() else None


def built() -> Path:
    """The program, built now unless it is kept; that takes minutes."""
    return made_once(_folder(), _make) / "bin" / "helm"


def _folder() -> Path:
    parts = [(_SOURCE / name).read_bytes() for name in ("go.mod", "go.sum")]
    return keeping_place("helm", *parts)


def _make(folder: Path) -> None:
    version = go("list", "-m", "-f", "{{.Version}}", _MODULE, source=_SOURCE).strip()
    flags = f"-s -w -X {_MODULE}/internal/version.version={version}"
    (folder / "bin").mkdir()
    go("build", "-o", f"{folder / 'bin'}/", "-ldflags", flags, "tool", source=_SOURCE)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{built()}\n")
    except BuildError as error:
        sys.exit(str(error))
