"""Chooses what one answer of `/dataset ls` shows: a page of rows, and what all rows add up to."""

import fnmatch
import heapq
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from bot.datasets.folders import Manifest, Row

PAGE_ROWS = 40
"""Rows of an answer: that many fit into a message, however long their names are."""

MOST_PAGES = 1_000


@dataclass(frozen=True)
class ListRequest:
    """What to list: a folder, or with `search` the files whose names match, in that folder.

    `path` has no slash at its ends; it is empty for the whole version. With `is_largest` the
    largest come first, else the order is that of their names. Pages count from 1.
    """

    path: str = ""
    search: str = ""
    is_largest: bool = False
    page: int = 1

    @property
    def folder(self) -> str:
        """The beginning of the keys of all files in the folder."""
        return f"{self.path}/" if self.path else ""


@dataclass(frozen=True)
class Listing:
    """A page of rows; `rows_found`, `files` and `size_bytes` are of all rows that were read.

    It `is_whole` if everything was read. Of a manifest with `objects` objects, `skipped` rows come
    before this page.
    """

    rows: tuple[Row, ...]
    skipped: int
    rows_found: int
    files: int
    size_bytes: int
    objects: int
    is_whole: bool


def listing(manifest: Manifest, request: ListRequest) -> Listing:
    """The page that was requested; without rows if there are none, or no such page."""
    rows = _matches(manifest, request) if request.search else manifest.rows(request.folder)
    sums = _Sums()
    start, end = (request.page - 1) * PAGE_ROWS, request.page * PAGE_ROWS
    if request.is_largest:
        shown = heapq.nsmallest(end, sums.counted(rows), key=_largest_first)[start:]
    else:
        counted = sums.counted(rows)
        shown = list(islice(counted, start, end))
        for _ in counted:
            pass
    is_whole = not manifest.budget.is_spent
    sizes = (sums.files, sums.size_bytes, manifest.index.objects)
    return Listing(tuple(shown), start, sums.rows, *sizes, is_whole)


class _Sums:
    """Adds up rows as they pass."""

    def __init__(self) -> None:
        self.rows = self.files = self.size_bytes = 0

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows."""
        for row in rows:
            self.rows += 1
            self.files += 1 if row.files is None else row.files
            self.size_bytes += row.size
            yield row


def _matches(manifest: Manifest, request: ListRequest) -> Iterator[Row]:
    matches, begin = _matcher(request.search), len(request.folder)
    for entry in manifest.files(request.folder):
        name = entry.key[begin:]
        if matches(name):
            yield Row(name, entry.size)


def _matcher(search: str) -> Callable[[str], object]:
    """Whether a path matches, whatever its letter case.

    Text is looked for in the whole path. A pattern with `*` or `?` has to match the file's name,
    or the whole path if it has a slash.
    """
    if not {"*", "?"} & set(search):
        return re.compile(re.escape(search), re.IGNORECASE).search
    found = re.compile(fnmatch.translate(search), re.IGNORECASE).match
    if "/" in search:
        return found
    return lambda path: found(path.rpartition("/")[2])


def _largest_first(row: Row) -> tuple[int, str]:
    return (-row.size, row.name)
