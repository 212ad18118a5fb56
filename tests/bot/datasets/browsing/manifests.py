"""Manifests in memory, cut into small parts, with a count of the parts that were read."""

import time
from collections.abc import Iterable, Sequence
from functools import partial

from bot.datasets.folders import Budget, Manifest
from bot.datasets.manifest import Entry, ManifestWriter, read_index, read_part, write_index

FOREVER = float("inf")


class Kept(dict[str, bytes]):
    """The files of a manifest by name; `reads` are the names that were read, in order."""

    def __init__(self, entries: Iterable[Entry], part_objects: int = 3) -> None:
        super().__init__()
        self.reads: list[str] = []
        writer = ManifestWriter(self.__setitem__, part_objects)
        for entry in entries:
            writer.add(entry)
        write_index(self.__setitem__, writer.close("s3://lake/set/"))

    def get_file(self, name: str) -> bytes:
        self.reads.append(name)
        return self[name]

    def opened(self, objects: int = 5_000_000, deadline: float = FOREVER) -> Manifest:
        """A reader with that budget."""
        index = read_index(self.get_file)
        self.reads.clear()
        budget = Budget(objects, deadline, time.monotonic)
        return Manifest(index, partial(read_part, self.get_file), budget)


def entries(keys: Sequence[str]) -> list[Entry]:
    """Objects with these keys in order; the size of each is ten times its place, from 10."""
    return [Entry(key, 10 * place, f"{place:x}") for place, key in enumerate(sorted(keys), 1)]
