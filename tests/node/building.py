"""The programs and images of real nodes, built once and kept beside the control plane's.

`python -m tests.node.building` builds them and prints their folders.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import building
from tests.cluster.building import BuildError

_HERE = Path(__file__).parent
_COMPONENTS, _IMAGES = _HERE / "components", _HERE / "images"
_TRAINING, _STORAGE = _COMPONENTS / "training", _COMPONENTS / "storage"
_KUBERNETES = (
    "k8s.io/kubernetes/cmd/kubelet",
    "k8s.io/kubernetes/cmd/kube-proxy",
    "github.com/kubeflow/mpi-operator/cmd/mpi-operator",
    "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
    "sigs.k8s.io/jobset",
)
_CONTAINERS = (
    "github.com/containerd/containerd/v2/cmd/containerd",
    "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    "github.com/containerd/containerd/v2/cmd/ctr",
    "github.com/containernetworking/plugins/plugins/main/bridge",
    "github.com/containernetworking/plugins/plugins/main/loopback",
    "github.com/containernetworking/plugins/plugins/ipam/host-local",
    "github.com/coredns/coredns",
)
_TRAINING_OPERATOR = "github.com/kubeflow/training-operator/cmd/training-operator.v1"
_SUMS = ("go.mod", "go.sum")
_SUITE = "bookworm"
_LEFT_OUT = ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*", "usr/share/doc/*")
# Each is built on those before it.
IMAGES = ("pause", "plain", "torch")


@dataclass(frozen=True)
class Nodes:
    """What nodes are made of: folders of programs, of images (NAME.tar), and of storage's programs.

    The last are a CSI driver and its sidecars, and csi-sanity.
    """

    programs: Path
    images: Path
    storage: Path


def kept() -> Nodes | None:
    """What was built before from the same sources, None when something is missing."""
    found = _places()
    is_whole = all(place.exists() for place in (found.programs, found.images, found.storage))
    return found if is_whole else None


def built() -> Nodes:
    """What is kept, else built now; that takes about a quarter of an hour."""
    places = _places()
    building.made_once(places.programs, _build_programs)
    building.made_once(places.images, _build_images)
    building.made_once(places.storage, _build_storage)
    return places


def _places() -> Nodes:
    sources = (building.SOURCE, _COMPONENTS, _TRAINING)
    modules = [(folder / name).read_bytes() for folder in sources for name in _SUMS]
    programs = repr((_KUBERNETES, _CONTAINERS, _TRAINING_OPERATOR)).encode()
    recipes = [path.read_bytes() for path in sorted(_IMAGES.rglob("*")) if path.is_file()]
    images = repr((_SUITE, _LEFT_OUT, IMAGES)).encode()
    drivers = [*(_STORAGE / name for name in _SUMS), *sorted(_STORAGE.rglob("*.go"))]
    return Nodes(
        building.keeping_place("node-programs", programs, *modules),
        building.keeping_place("node-images", images, *recipes),
        building.keeping_place("node-storage", *(path.read_bytes() for path in drivers)),
    )


def _build_programs(folder: Path) -> None:
    flags = ("build", "-o", f"{folder}/", "-ldflags")
    building.go(*flags, building.link_flags(), *_KUBERNETES)
    building.go(*flags, "-s -w", *_CONTAINERS, source=_COMPONENTS)
    building.go(*flags, "-s -w", _TRAINING_OPERATOR, source=_TRAINING)


def _build_storage(folder: Path) -> None:
    flags = ("build", "-o", f"{folder}/", "-ldflags", "-s -w")
    building.go(*flags, "tool", "./csi-folder", source=_STORAGE)


def _build_images(folder: Path) -> None:
    """Builds with a store of its own: what else buildah has on the machine stays as it is."""
    context = folder / "context"
    shutil.copytree(_IMAGES, context)
    flags = ("build", "-o", str(context / "pause"), "-ldflags", "-s -w", "main.go")
    building.go(*flags, source=(context / "pause").rename(context / "pause-source"))
    _make_debian(context / "debian", context / "debian.tar")
    store = ("--root", str(context / "store"), "--runroot", str(context / "run"))
    buildah = ("buildah", *store)
    for name in IMAGES:
        tag = f"localhost/{name}:1"
        recipe = str(context / f"Containerfile.{name}")
        run(*buildah, "build", "--format=docker", "--isolation=chroot", "-t", tag, "-f", recipe,
             str(context))  # fmt: skip
        run(*buildah, "push", tag, f"docker-archive:{folder / name}.tar:{tag}")
    run(*buildah, "rmi", "--all", "--force")
    shutil.rmtree(context)


def _make_debian(root: Path, archive: Path) -> None:
    run("debootstrap", "--variant=minbase", "--include=python3,ca-certificates", _SUITE, str(root))
    for pattern in _LEFT_OUT:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    run("tar", "-C", str(root), "--sort=name", "-cf", str(archive), ".")
    shutil.rmtree(root)


def run(*command: str) -> None:
    """Runs a program of the build; BuildError with the end of what it said when it fails."""
    environment = dict(os.environ)  # noqa: TID251  # proxies and mirrors are named there
    done = subprocess.run(
        ["nice", *command],  # noqa: S607  # whichever is first on PATH
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    try:
        places = built()
    except BuildError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{places.programs}\n{places.images}\n{places.storage}\n")
