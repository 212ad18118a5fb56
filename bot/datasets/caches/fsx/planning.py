"""Whether FSx can import a version, by the configuration and the rows."""

import math

from sqlmodel import Session, col, select

from bot.config import FsxFolder
from bot.datasets.caches.cost import GIB
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.places import is_mountable, overlap, place_of
from bot.datasets.fsx.tables import Import
from bot.datasets.tables import Version
from bot.errors import ConflictError, UsageError


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
            "Leave out --layout, or use another class with --class.",
        )


def planned(session: Session, version: Version, storage_class: str, linked: FsxFolder) -> Import:
    """The row of an import, without its cache's id; nothing is written.

    Raises:
        ConflictError: the version is outside the repository linked to the file system, or the
            import would change the folder of another cache.
    """
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
