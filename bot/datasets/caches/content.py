"""What a cache holds: a version, or some folders of it."""

import re
import shlex
from dataclasses import dataclass

import msgspec

from bot.database.columns import WholeNumber
from bot.datasets import subfolders
from bot.datasets.tables import Version

_SEVERAL = 2


class PlannedPart(msgspec.Struct, frozen=True):
    """Some folders of a version, counted by its manifest; a part of the value of a button."""

    folders: str = msgspec.field(name="f")
    digest: str = msgspec.field(name="d")
    objects: WholeNumber = msgspec.field(name="n")
    size_bytes: WholeNumber = msgspec.field(name="s")


@dataclass(frozen=True)
class CacheContent:
    """What is copied; `part` has its folders, and is empty for a whole version."""

    reference: str
    digest: str
    objects: int
    size_bytes: int
    part: str = ""


def content_of(version: Version, part: PlannedPart | None) -> CacheContent:
    """A version, or a part of it."""
    if part is None:
        digest, objects = version.digest or "", version.objects or 0
        return CacheContent(version.reference, digest, objects, version.size_bytes or 0)
    reference = subfolders.spelled(version.reference, [part.folders])
    return CacheContent(reference, part.digest, part.objects, part.size_bytes, part.folders)


def reading(reference: str) -> str:
    """The command of a run that reads a version, or each of these folders of it, under /data."""
    whole, _, part = reference.partition("/")
    folders = subfolders.read(part)
    if len(folders) < _SEVERAL:
        return f"train submit NAME --data {shlex.quote(f'{reference}:/data')}"
    each = (f"{whole}/{folder}:{_path(folder)}" for folder in folders)
    return f"train submit NAME {' '.join(f'--data {shlex.quote(mount)}' for mount in each)}"


def _path(folder: str) -> str:
    """The path of a folder in containers, where `--data` takes no blanks."""
    return re.sub(r"\s", "_", f"/data/{folder.rstrip('/')}")
