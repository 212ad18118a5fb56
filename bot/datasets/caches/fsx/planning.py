"""Whether FSx can import a version, by the configuration and the rows, and where it would be."""

import math
import re
from dataclasses import dataclass

from sqlmodel import Session, col, select

from bot.config import FsxFolder
from bot.datasets.caches.plan import GIB
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.tables import Import
from bot.datasets.tables import Version
from bot.errors import ConflictError, UsageError

_PLAIN = re.compile(r"[A-Za-z0-9._/=+@-]+")


@dataclass(frozen=True)
class RepositoryPath:
    """The files below `folder`, relative to the mount point, are the `objects` of the bucket."""

    file_system: str
    repository: str
    root: str
    objects: str
    folder: str


def space(version: Version) -> int:
    """Bytes that a version takes of a file system, in whole GiB."""
    return max(math.ceil((version.size_bytes or 0) / GIB), 1) * GIB


def refuse_options(storage_class: str, size: int | None, layout: str | None) -> None:
    """UsageError for options that need a volume of the cache's own."""
    why = f"{storage_class} is a file system that shows the objects of a bucket"
    if size is not None:
        raise UsageError(f"{why}, so there is no size to choose.", "Leave out --size.")
    if layout:
        raise UsageError(
            f"{why}, and rearranging its files would change those objects.",
            "Leave out --layout, use another class with --class, or push rearranged files to the"
            " bucket as a new version.",
        )


def refuse_part(storage_class: str) -> None:
    """ConflictError for folders of a version: FSx shows all objects of a place."""
    raise ConflictError(
        f"{storage_class} is a file system that shows the objects of a bucket, so it cannot have"
        " some folders of a version alone.",
        "Leave out the folders, or use another class with --class.",
    )


def planned(session: Session, version: Version, storage_class: str, linked: FsxFolder) -> Import:
    """The row of an import, without its cache's id; nothing is written.

    ConflictError if the version has selected files only, if it is outside the repository linked to
    the file system, or if the import would change the folder of another cache.
    """
    _refuse_selection(version, storage_class)
    place = place_of(version.source, linked)
    if place is None:
        raise ConflictError(
            f"{version.reference} is in {version.source}, but {storage_class} shows only"
            f" {linked.repository}.",
            "Cache it on another class with --class.",
        )
    if not is_mountable(place.folder):
        raise ConflictError(
            f"Folder {place.folder} of {storage_class} cannot be mounted: its name has characters"
            " other than letters, digits and . _ - = + @.",
            "Cache it on another class with --class.",
        )
    there = session.exec(
        select(Import, Cache)
        .join(Cache, col(Cache.id) == Import.cache_id)
        .where(col(Import.file_system) == place.file_system, col(Cache.is_cleared).is_(False))
    )
    for imported, cache in there:
        if overlap(imported.folder, place.folder):
            raise ConflictError(
                f"{cache.reference} is in folder {imported.folder} of {storage_class}, which"
                f" importing {version.reference} would change.",
                f"Evict {cache.reference} first, or use another class with --class.",
            )
    return Import(
        cache_id="",
        file_system=place.file_system,
        repository=place.repository,
        root=place.root,
        objects=place.objects,
        folder=place.folder,
    )


def _refuse_selection(version: Version, storage_class: str) -> None:
    if version.selected_from:
        raise ConflictError(
            f"{storage_class} is a file system that shows the objects of a bucket, so it cannot"
            f" have the files of {version.reference} alone.",
            "Use another class with --class.",
        )


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
