"""Reads bytes of objects: by a fast engine, with one for every store as a fallback."""

import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from typing_extensions import Buffer

from bot.datasets.manifest import Entry

CHUNK_BYTES = 256 * 1024


class UnfitError(Exception):
    """This engine cannot read this object; `always`: it can read no range from this store."""

    def __init__(self, why: str, *, always: bool = False) -> None:
        super().__init__(why)
        self.always = always


class Engine(Protocol):
    """Reads objects of one bucket, from any number of threads."""

    @property
    def name(self) -> str:
        """The name of the library that reads."""

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object; WorkError if it is no longer the listed one."""

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        """Some bytes of an object, in pieces that fit into memory; requests them at once."""


class Fallback:
    """Reads by the first engine, and by the second what the first cannot read."""

    def __init__(self, first: Engine, second: Callable[[], Engine]) -> None:
        self.name = first.name
        self._first: Final = first
        self._make_second: Final = second
        self._second: Engine | None = None
        self._always = False
        self._lock: Final = threading.Lock()

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object."""
        if not self._always:
            try:
                return self._first.whole(entry)
            except UnfitError as error:
                self._note(error)
        return self._other().whole(entry)

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        """Some bytes of an object."""
        if not self._always:
            try:
                return self._first.chunks(entry, first, size)
            except UnfitError as error:
                self._note(error)
        return self._other().chunks(entry, first, size)

    def _note(self, error: UnfitError) -> None:
        if error.always:
            self._always = True

    def _other(self) -> Engine:
        with self._lock:
            if self._second is None:
                self._second = self._make_second()
                self.name = f"{self._first.name} and {self._second.name}"
            return self._second


def cut(chunks: Iterator[bytes], first: int, size: int) -> Iterator[bytes]:
    """The bytes of a range, cut out of the chunks of the whole object."""
    place = 0
    for chunk in chunks:
        if piece := chunk[max(0, first - place) : max(0, first + size - place)]:
            yield piece
        place += len(chunk)
