"""The control plane's programs and manifests, built once from their Go modules and kept.

They are kept outside the checkout, by what they are made of: $XDG_CACHE_HOME (or ~/.cache),
quartermaster/control-plane. `python -m tests.cluster.building` builds and prints the folder.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "components"
_KUBERNETES, _KUEUE, _KWOK = "k8s.io/kubernetes", "sigs.k8s.io/kueue", "sigs.k8s.io/kwok"
_JOBSET, _TRAINER = "sigs.k8s.io/jobset", "github.com/kubeflow/trainer/v2"
_LOGS = "kustomize/crd/bases/*logs.yaml"
_TRAINING = "github.com/kubeflow/training-operator"
# Folder in `manifests`: the module it comes from, and which of its files (patterns).
_MANIFESTS: Mapping[str, tuple[str, ...]] = {
    "crds/kueue": (_KUEUE, "config/components/crd/bases/*.yaml"),
    "crds/kwok": (_KWOK, "kustomize/crd/bases/*_stages.yaml", _LOGS),
    "crds/snapshots": (
        "github.com/kubernetes-csi/external-snapshotter/client/v8",
        "config/crd/*.k8s.io_*.yaml",
    ),
    "crds/jobset": (_JOBSET, "config/components/crd/bases/*.yaml"),
    "crds/mpi": ("github.com/kubeflow/mpi-operator", "manifests/base/kubeflow.org_*.yaml"),
    "crds/trainer": (_TRAINER, "manifests/base/crds/trainer.*.yaml"),
    # training-operator has an MPIJob of its own; a cluster has that one or mpi-operator's.
    "crds/training": (_TRAINING, "manifests/base/crds/kubeflow.org_[!m]*.yaml"),
    "crds/mpi-v1": (_TRAINING, "manifests/base/crds/kubeflow.org_mpijobs.yaml"),
    "crds/ray": (
        "github.com/ray-project/kuberay/ray-operator",
        "config/crd/bases/ray.io_rayclusters.yaml",
        "config/crd/bases/ray.io_rayjobs.yaml",
    ),
    "jobset/webhooks": (_JOBSET, "config/components/webhook/manifests.yaml"),
    "trainer/webhooks": (_TRAINER, "manifests/base/webhook/manifests.yaml"),
    "trainer/runtimes": (_TRAINER, "manifests/base/runtimes/torch_distributed.yaml"),
    "training/webhooks": (_TRAINING, "manifests/base/webhook/manifests.yaml"),
    "kueue/webhooks": (_KUEUE, "config/components/webhook/manifests.yaml"),
    "kueue/visibility": (_KUEUE, "config/components/visibility/apiservice_*.yaml"),
    "kueue/roles": (_KUEUE, "config/components/rbac/*_role.yaml"),
    "kwok/nodes": (_KWOK, "kustomize/stage/node/*/node-*.yaml"),
}


@dataclass(frozen=True)
class Built:
    """A folder with everything that was built."""

    folder: Path

    def program(self, name: str) -> str:
        """The path of a program."""
        return str(self.folder / "bin" / name)

    def manifests(self, name: str) -> list[Path]:
        """The files of one folder of manifests, by name."""
        return sorted((self.folder / "manifests" / name).glob("*.yaml"))


class BuildError(Exception):
    """The programs could not be built; the end of what Go said tells why."""


def kept() -> Built | None:
    """What was built before from the same sources, None when nothing was."""
    folder = _folder()
    return Built(folder) if folder.exists() else None


def built() -> Built:
    """What is kept, else built now; that takes many minutes."""
    return Built(made_once(_folder(), _make))


def keeping_place(kind: str, *parts: bytes) -> Path:
    """Where something of a kind is kept, by what it is made of."""
    environment = os.environ  # noqa: TID251  # a test session may ask where it runs
    caches = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
    return caches / "quartermaster" / kind / key


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made by `make` unless it is there; one that was not finished is not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.parent / "lock"):
        if not folder.exists():
            making = folder.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            make(making)
            making.rename(folder)
    return folder


def go(*arguments: str, source: Path = SOURCE) -> str:
    """What a go command printed; programs are built without C, so they need no libraries."""
    environment = dict(os.environ)  # noqa: TID251  # Go keeps its settings there
    environment |= {"GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        ["nice", "go", *arguments],  # noqa: S607  # whichever Go is first on PATH
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"go {arguments[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def link_flags() -> str:
    """Symbols left out, versions told, and Kueue's certificates below its working directory."""
    version = go("list", "-m", "-f", "{{.Version}}", _KUBERNETES).strip()
    major, minor, _ = version.removeprefix("v").split(".")
    said = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    flags = [
        f"-X {package}.{name}={value}"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for name, value in said.items()
    ]
    return " ".join(["-s", "-w", *flags, f"-X {_KUEUE}/pkg/visibility.certDir=visibility"])


def _make(folder: Path) -> None:
    (folder / "bin").mkdir()
    go("build", "-o", f"{folder / 'bin'}/", "-ldflags", link_flags(), "tool")
    _copy_manifests(folder / "manifests")


def _folder() -> Path:
    parts = [(SOURCE / name).read_bytes() for name in ("go.mod", "go.sum")]
    return keeping_place("control-plane", *parts, Path(__file__).read_bytes())


def _copy_manifests(target: Path) -> None:
    modules = sorted({module for module, *_ in _MANIFESTS.values()})
    go("mod", "download", *modules)
    listed = go("list", "-m", "-f", "{{.Path}} {{.Dir}}", *modules)
    folders = dict(line.split(" ", 1) for line in listed.splitlines())
    for name, (module, *patterns) in _MANIFESTS.items():
        (target / name).mkdir(parents=True)
        found = [path for pattern in patterns for path in Path(folders[module]).glob(pattern)]
        if not found:
            raise BuildError(f"{module} has no {patterns}")
        for path in found:
            (target / name / path.name).write_bytes(path.read_bytes())


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{built().folder}\n")
    except BuildError as error:
        sys.exit(str(error))
