"""Walks the files and folders of a version by its manifest, one part in memory at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from bot.datasets.manifest import Entry, Index, ManifestPart

_KEY = attrgetter("key")
_AFTER_SLASH = "0"  # the character after the slash: `a0` comes after every key in `a/`


class Row(NamedTuple):
    """A file, or a folder with the number and size of all files in it.

    The name is relative to the listed folder; that of a folder ends with a slash. `files` is None
    for a file. A row `is_partial` if reading stopped within that folder.
    """

    name: str
    size: int
    files: int | None = None
    is_partial: bool = False


@dataclass
class Budget:
    """Limits what one answer reads: a number of objects, and a moment of a monotonic clock."""

    objects: int
    deadline: float
    monotonic: Callable[[], float]
    is_spent: bool = False

    def take(self, objects: int) -> bool:
        """Whether so many more objects may be read; once refused, nothing more is."""
        self.objects -= objects
        if self.objects < 0 or self.monotonic() > self.deadline:
            self.is_spent = True
        return not self.is_spent


class Manifest:
    """The manifest of a version, of which only the needed parts are read."""

    def __init__(
        self, index: Index, read: Callable[[ManifestPart], list[Entry]], budget: Budget
    ) -> None:
        self.index = index
        self.budget = budget
        self._read = read
        self._last: tuple[str, list[Entry]] | None = None
        self._firsts = [part.first_key for part in index.parts]

    def find(self, key: str) -> Entry | None:
        """The object with that key."""
        found = self.at(key)
        return found if found is not None and found.key == key else None

    def has_folder(self, folder: str) -> bool:
        """Whether there are files in a folder, which ends with a slash."""
        found = self.at(folder)
        return found is not None and found.key.startswith(folder)

    def at(self, key: str) -> Entry | None:
        """The first object with that key or a later one; None without one, or if stopped."""
        number = max(bisect_right(self._firsts, key) - 1, 0)
        for part in self.index.parts[number : number + 2]:
            entries = self._entries(part)
            if entries is None:
                return None
            place = bisect_left(entries, key, key=_KEY)
            if place < len(entries):
                return entries[place]
        return None

    def files(self, folder: str) -> Iterator[Entry]:
        """All files in a folder and in those below it, in the order of their keys."""
        for part, _ in self._parts(folder):
            entries = self._entries(part)
            if entries is None:
                return
            yield from entries[_start(entries, folder) : _end(entries, folder)]

    def rows(self, folder: str) -> Iterator[Row]:
        """The files and folders directly in a folder, in the order of their keys.

        A part whose files are all in one of these folders is counted by the index, not read.
        """
        totals = _Totals()
        for part, following in self._parts(folder):
            inside = _child(part.first_key, folder) if part.first_key.startswith(folder) else ""
            if inside.endswith("/") and following.startswith(folder + inside):
                yield from totals.add(inside, part.objects, part.bytes)
                continue
            entries = self._entries(part)
            if entries is None:
                yield from totals.close(is_partial=True)
                return
            yield from _rows_of(entries, folder, totals)
        yield from totals.close()

    def _entries(self, part: ManifestPart) -> list[Entry] | None:
        """The objects of a part; None if the budget does not allow reading it."""
        if self._last is not None and self._last[0] == part.name:
            return self._last[1]
        self._last = None  # not two parts at a time
        if not self.budget.take(part.objects):
            return None
        entries = self._read(part)
        self._last = (part.name, entries)
        return entries

    def _parts(self, folder: str) -> Iterator[tuple[ManifestPart, str]]:
        """The parts that may have files of a folder, each with the first key of the next one."""
        for part, following in zip(self.index.parts, [*self._firsts[1:], ""], strict=False):
            is_before = following and following <= folder
            is_after = folder and part.first_key >= _beyond(folder)
            if not is_before and not is_after:
                yield part, following


class _Totals:
    """Adds up the folder at which the walk is."""

    def __init__(self) -> None:
        self._row: Row | None = None

    def add(self, name: str, files: int, size: int) -> Iterator[Row]:
        """Adds files of a folder; yields the folder before it."""
        if self._row is not None and self._row.name == name:
            self._row = Row(name, self._row.size + size, (self._row.files or 0) + files)
            return
        yield from self.close()
        self._row = Row(name, size, files)

    def close(self, *, is_partial: bool = False) -> Iterator[Row]:
        """Yields the folder at which the walk was."""
        if self._row is not None:
            yield self._row._replace(is_partial=is_partial)
        self._row = None


def _rows_of(entries: list[Entry], folder: str, totals: _Totals) -> Iterator[Row]:
    place, end = _start(entries, folder), _end(entries, folder)
    while place < end:
        entry = entries[place]
        name = _child(entry.key, folder)
        if not name.endswith("/"):
            yield from totals.close()
            yield Row(name, entry.size)
            place += 1
            continue
        stop = bisect_left(entries, _beyond(folder + name), place, end, key=_KEY)
        size = sum(each.size for each in entries[place:stop])
        yield from totals.add(name, stop - place, size)
        place = stop


def _child(key: str, folder: str) -> str:
    """The file or folder directly in `folder` that a key is, or is in."""
    slash = key.find("/", len(folder))
    return key[len(folder) :] if slash < 0 else key[len(folder) : slash + 1]


def _beyond(folder: str) -> str:
    """The least key that comes after all files of a folder."""
    return folder[:-1] + _AFTER_SLASH


def _start(entries: list[Entry], folder: str) -> int:
    return bisect_left(entries, folder, key=_KEY) if folder else 0


def _end(entries: list[Entry], folder: str) -> int:
    return bisect_left(entries, _beyond(folder), key=_KEY) if folder else len(entries)
