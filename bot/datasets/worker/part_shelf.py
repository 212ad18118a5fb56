"""The manifest of some folders of a version, made from that of the whole version."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from bot.datasets.folders import Budget, Manifest
from bot.datasets.manifest import Index, ManifestWriter, read_index, read_part, write_index
from bot.datasets.worker.survey import Shelf


class PartShelf:
    """Holds the manifest of some folders of another manifest in a folder on disk.

    Folders are sorted, end with a slash, and none is inside another. Parts of the whole manifest
    that have no file in them are not read. The digest of what results is the reader's to compare.
    """

    def __init__(self, whole: Shelf, folders: Sequence[str], room: Path) -> None:
        self._whole = whole
        self._folders = folders
        self._room = room
        self._index: Index | None = None

    def get(self, name: str) -> bytes:
        """A part or the index."""
        if self._index is None:
            self._index = self._written()
        return (self._room / name).read_bytes()

    def _written(self) -> Index:
        index, writer = read_index(self._whole.get), ManifestWriter(self._put)
        budget = Budget(sys.maxsize, math.inf, time.monotonic)
        manifest = Manifest(index, partial(read_part, self._whole.get), budget)
        for folder in self._folders:
            for entry in manifest.files(folder):
                writer.add(entry)
        part = replace(writer.close(index.source), findings=index.findings)
        write_index(self._put, part)
        return part

    def _put(self, name: str, content: bytes) -> None:
        (self._room / name).write_bytes(content)


@contextmanager
def parted(whole: Shelf, folders: Sequence[str]) -> Iterator[Shelf | PartShelf]:
    """The manifest of these folders; without any, the whole one."""
    if not folders:
        yield whole
        return
    with TemporaryDirectory() as room:
        yield PartShelf(whole, sorted(folders), Path(room))
