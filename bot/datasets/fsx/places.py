"""Where a version is on a file system that is linked to a bucket. Pure."""

import re
from dataclasses import dataclass

from bot.config import FsxFolder

_PLAIN = re.compile(r"[A-Za-z0-9._/=+@-]+")


@dataclass(frozen=True)
class Place:
    """`objects` in the bucket are the files below `folder`, which is told from the mount point."""

    file_system: str
    repository: str
    root: str
    objects: str
    folder: str


def place_of(source: str, linked: FsxFolder) -> Place | None:
    """Where the objects below a source are files; None where the folder is not linked to them."""
    if not source.startswith(linked.repository):
        return None
    root = f"/{linked.path.strip('/')}"
    inner = source.removeprefix(linked.repository).strip("/")
    folder = f"{root}/{inner}".strip("/")
    return Place(linked.file_system, linked.repository, root, source, folder)


def is_mountable(folder: str) -> bool:
    """Whether a client can mount the folder as a fileset: it stands behind an address there."""
    plain = _PLAIN.fullmatch(folder) is not None
    return plain and not {"", ".", ".."} & set(folder.split("/"))


def overlap(one: str, other: str) -> bool:
    """Whether a folder is in the other one, or the same."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
