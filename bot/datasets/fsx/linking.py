"""Checks that a file system exists and is linked to the configured bucket."""

from typing import NamedTuple

from bot.config import FsxFolder
from bot.datasets.fsx.answers import Association, FileSystem
from bot.datasets.fsx.client import Fsx
from bot.errors import StorageError

UNLINKED = "Unlinked"
_USABLE = frozenset({"AVAILABLE", "UPDATING"})
_COMING = "CREATING"
_LOOK = "An admin must check it in FSx."
_CONFIGURED = "A platform admin must fix it, or datasets.classes.NAME.fsx in quartermaster.yaml."


class Link(NamedTuple):
    """A folder linked to a bucket, and its file system."""

    system: FileSystem
    association: Association


def link_of(fsx: Fsx, folder: FsxFolder) -> Link | None:
    """The link of a folder, None while it is being created; StorageError (Unlinked) without one."""
    system = fsx.file_system(folder.file_system)
    if system is None:
        raise _unlinked(f"There is no file system {folder.file_system} in FSx.", _CONFIGURED)
    root = folder.path.strip("/")
    association = next(
        (each for each in fsx.associations(system.id) if each.path.strip("/") == root), None
    )
    if _COMING in {system.lifecycle, association.lifecycle if association else ""}:
        return None
    return Link(system, _fitting(folder, system, association))


def _fitting(folder: FsxFolder, system: FileSystem, link: Association | None) -> Association:
    root = f"/{folder.path.strip('/')}"
    if system.lifecycle not in _USABLE:
        raise _unlinked(f"File system {system.id} is {system.lifecycle}.", _LOOK)
    if link is None:
        raise _unlinked(f"{root} of {system.id} is not linked to a bucket.", _CONFIGURED)
    if link.repository.rstrip("/") != folder.repository.rstrip("/"):
        said = f"{root} of {system.id} is linked to {link.repository}, not to {folder.repository}."
        raise _unlinked(said, _CONFIGURED)
    if link.lifecycle not in _USABLE:
        raise _unlinked(f"Association {link.id} of {system.id} is {link.lifecycle}.", _LOOK)
    if link.follows:
        events = ", ".join(link.follows)
        raise _unlinked(
            f"Association {link.id} imports changes of the bucket automatically ({events}), so the"
            " files of a version would change under its name.",
            "An admin must turn off its automatic import: aws fsx"
            f" update-data-repository-association --association-id {link.id}"
            " --s3 'AutoImportPolicy={Events=[]}'",
        )
    return link


def _unlinked(why: str, mend: str) -> StorageError:
    return StorageError(why, mend, code=UNLINKED)
