"""The bot's own image, built from the Dockerfile on a base of Debian's packages, and kept.

`python -m tests.node.bot_image` builds it and prints where it is.
"""

import shutil
import ssl
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.cluster import building as kept_things
from tests.cluster.building import BuildError
from tests.node import building
from tests.node.building import Nodes

NAME = "localhost/quartermaster:1"
_ROOT, _BASE = Path(__file__).parents[2], Path(__file__).parent / "base"
_SOURCES = (
    "Dockerfile",
    ".dockerignore",
    "pyproject.toml",
    "uv.lock",
    "README.md",
    "LICENSE",
    "NOTICE",
    "bot",
    "handlers",
    "jobs",
)
_KIND, _STORE, _ARCHIVE = "bot-image", "store", "quartermaster.tar"
BASE_NAME, _STAGE_NAME = "localhost/python:3.11", "localhost/quartermaster-build:1"
_KEPT = 2


def kept() -> Path | None:
    """The image built before from the same sources, as an archive; None when there is none."""
    nodes = building.kept()
    path = _place(nodes) / _ARCHIVE if nodes is not None else None
    return path if path is not None and path.exists() else None


def store() -> tuple[str, ...]:
    """The buildah command with the store of these images, the base among them."""
    place = kept_things.keeping_place(_KIND).parent / _STORE
    return ("buildah", "--root", str(place / "root"), "--runroot", str(place / "run"))


def built() -> Path:
    """What is kept, else built now; that takes about a minute, and less the next time."""
    nodes = building.built()
    place = kept_things.made_once(_place(nodes), partial(_build, plain=_plain(nodes)))
    others = [each for each in place.parent.iterdir() if (each / _ARCHIVE).exists()]
    for old in sorted(others, key=lambda each: each.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old)
    return place / _ARCHIVE


def _place(nodes: Nodes) -> Path:
    parts = [f"{path.relative_to(_ROOT)}".encode() + path.read_bytes() for path in _files()]
    recipe = (_BASE / "Containerfile").read_bytes()
    return kept_things.keeping_place(_KIND, recipe, str(_plain(nodes)).encode(), *parts)


def _files() -> Iterator[Path]:
    """What the image is built from, without what Python writes beside it."""
    for source in (_ROOT / name for name in _SOURCES):
        found = sorted(source.rglob("*")) if source.is_dir() else [source]
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def _plain(nodes: Nodes) -> Path:
    return nodes.images / "plain.tar"


def _build(folder: Path, *, plain: Path) -> None:
    """Builds with a store of its own, whose layers make the next build a short one."""
    stored = store()
    flags = ("build", "--format=docker", "--isolation=chroot", "--layers", "--pull=never")
    base = folder / "base"
    shutil.copytree(_BASE, base)
    shutil.copy(ssl.get_default_verify_paths().cafile or "", base / "trusted.crt")
    # Of a build that was killed a container is left, which keeps its image from being pruned.
    building.run(*stored, "rm", "--all")
    building.run(*stored, "pull", f"docker-archive:{plain}")
    building.run(*stored, *flags, "-t", BASE_NAME, str(base))
    shutil.rmtree(base)
    args = ("--build-arg", f"BASE={BASE_NAME}")
    # The stage that builds has a name of its own, or pruning would remove its layers.
    building.run(*stored, *flags, *args, "--target", "build", "-t", _STAGE_NAME, str(_ROOT))
    building.run(*stored, *flags, *args, "-t", NAME, str(_ROOT))
    building.run(*stored, "push", NAME, f"docker-archive:{folder / _ARCHIVE}:{NAME}")
    building.run(*stored, "rmi", "--prune")


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{built()}\n")
    except BuildError as error:
        sys.exit(str(error))
