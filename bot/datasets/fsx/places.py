"""Where a version is on a file system that is linked to a bucket. Pure."""

import re
from dataclasses import dataclass

from bot.config import FsxFolder

_PLAIN = re.compile(r"[A-Za-z0-9._/=+@-]+")


@dataclass(frozen=True)
class RepositoryPath:
    """The files below `folder`, relative to the mount point, are the `objects` of the bucket."""

    file_system: str
    repository: str
    root: str
    objects: str
    folder: str


def place_of(source: str, linked: FsxFolder) -> RepositoryPath | None:
    """The place of a source's files; None if the folder is not linked to the source's bucket."""
    if not source.startswith(linked.repository):
        return None
    root = f"/{linked.path.strip('/')}"
    inner = source.removeprefix(linked.repository).strip("/")
    folder = f"{root}/{inner}".strip("/")
    return RepositoryPath(linked.file_system, linked.repository, root, source, folder)


def is_mountable(folder: str) -> bool:
    """Whether a client can mount the folder as a fileset: it becomes part of a mount address."""
    plain = _PLAIN.fullmatch(folder) is not None
    return plain and not {"", ".", ".."} & set(folder.split("/"))


def overlap(one: str, other: str) -> bool:
    """Whether two folders are the same, or one is inside the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
