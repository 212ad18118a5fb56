"""Answers about the files of a version, read from its manifest and from its objects."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from bot.config import Settings
from bot.datasets.browsing.listing import PAGE_ROWS, Listing, ListRequest, listing
from bot.datasets.browsing.near import nearest
from bot.datasets.browsing.text import MOST_BYTES, TextHead, text_head
from bot.datasets.folders import Budget, Manifest
from bot.datasets.location import Location
from bot.datasets.manifest import Entry, ManifestTotals, read_index, read_part, totals_of
from bot.datasets.object_store import ObjectStore, opened
from bot.datasets.tables import Version
from bot.errors import NotFoundError, StorageError, UsageError

MOST_OBJECTS = 5_000_000
"""How many objects of a manifest one answer reads."""

DEADLINE_SECONDS = 25.0


class BrowseReads:
    """Reads what a version contains; each answer has a limit of objects, and a deadline."""

    def __init__(
        self, settings: Callable[[], Settings], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic

    def listing(self, version: Version, request: ListRequest) -> Listing | Entry:
        """A page of a folder or of a search; the object, if the path is that of a file."""
        with self._manifest(version) as manifest:
            found = listing(manifest, request)
            if not found.rows_found and found.is_whole and request.path:
                return self._file(manifest, version, request)
        if found.rows_found and not found.rows and found.is_whole:
            pages = -(-found.rows_found // PAGE_ROWS)
            raise UsageError(
                f"There is no page {request.page}.",
                f"There {'is only page 1' if pages == 1 else f'are pages 1 to {pages:,}'}.",
            )
        return found

    def find(self, version: Version, path: str) -> Entry:
        """The file with that path; NotFoundError suggests another one."""
        with self._manifest(version) as manifest:
            return _found(manifest, version, path)

    def head(self, version: Version, path: str, most_lines: int) -> tuple[Entry, TextHead]:
        """The first lines of a file, and its object; UsageError if it is not text."""
        entry = self.find(version, path)
        if not entry.size:
            return entry, TextHead((), 0, is_whole=True)
        with closing(opened(self._settings(), version.store)) as store:
            begin = store.begin(Location.of(version.source), entry, MOST_BYTES)
        is_whole = entry.size <= MOST_BYTES
        return entry, text_head(begin, is_whole=is_whole, most_lines=most_lines)

    def totals(self, version: Version, folders: Sequence[str]) -> ManifestTotals:
        """What these folders hold, which are in order; NotFoundError suggests another one."""
        with self._manifest(version) as manifest:
            for folder in folders:
                _insist(manifest, version, folder)
            found = totals_of(entry for folder in folders for entry in manifest.files(folder))
            if manifest.budget.is_spent:
                raise StorageError(
                    f"Folders of {version.reference} have too many files to count:"
                    f" over {MOST_OBJECTS:,}, or more than {DEADLINE_SECONDS:.0f} s of reading.",
                    "Name smaller folders, or the whole version.",
                )
            return found

    def insist(self, version: Version, folder: str) -> None:
        """NotFoundError if a version has no files in a folder; it suggests another one."""
        with self._manifest(version) as manifest:
            _insist(manifest, version, folder)

    def _file(self, manifest: Manifest, version: Version, request: ListRequest) -> Listing | Entry:
        """The file with the requested path; without matches in a folder, no rows."""
        if request.search and manifest.has_folder(request.folder):
            return Listing((), 0, 0, 0, 0, manifest.index.objects, is_whole=True)
        return _found(manifest, version, request.path)

    @contextmanager
    def _manifest(self, version: Version) -> Iterator[Manifest]:
        deadline = self._monotonic() + DEADLINE_SECONDS
        place = Location.of(version.manifest)
        with closing(opened(self._settings(), version.manifest_store)) as store:
            get = partial(_get, store, place)
            index = read_index(get)
            if index.digest != version.digest:
                raise StorageError(
                    f"The manifest of {version.reference} is not the one that was recorded.",
                    f"Record the version again: /dataset version {version.dataset}",
                )
            budget = Budget(MOST_OBJECTS, deadline, self._monotonic)
            yield Manifest(index, partial(read_part, get), budget)


def _get(store: ObjectStore, place: Location, name: str) -> bytes:
    return store.get(place, name)


def _insist(manifest: Manifest, version: Version, folder: str) -> None:
    if manifest.has_folder(folder):
        return
    path = folder.rstrip("/")
    if manifest.find(path) is not None:
        raise UsageError(
            f"{path} of {version.reference} is a file, not a folder.", "Name the folder it is in."
        )
    _found(manifest, version, path)


def _found(manifest: Manifest, version: Version, path: str) -> Entry:
    found = manifest.find(path)
    if found is not None:
        return found
    if not path or manifest.has_folder(f"{path}/"):
        raise UsageError(f"{path}/ is a folder of {version.reference}.", "Name a file in it.")
    near = nearest(manifest, path)
    if manifest.budget.is_spent:
        raise StorageError(
            f"Looking for {path} took longer than {DEADLINE_SECONDS:.0f} s and was stopped.",
            f"Store {version.manifest_store} is slow at the moment. Try again later.",
        )
    where = f"Folder {near.folder} is there." if near.folder else ""
    raise NotFoundError(
        f"{version.reference} has no file or folder {path}.",
        f"Did you mean {near.path}?" if near.path else where,
    )
