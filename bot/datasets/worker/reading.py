"""`quartermaster verify`: reads existing files and compares each with its object.

On a file system that loads files on first access, such as FSx for Lustre, this loads them.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.datasets.manifest import Entry, Index, read_entries
from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.fill import wanted
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.comparing import has_md5
from bot.datasets.worker.survey import Shelf
from bot.datasets.worker.tree import PathEntry, Tree
from bot.datasets.worker.verifying import Verifier
from bot.errors import StorageError

_READ_BYTES = 1 << 20
_NAMED = 10
_LEFT_BEHIND = (
    "FSx does not remove the file of an object that was deleted, and recording a new version does"
    " not help. An admin of the file system must remove these files below the version's folder"
    " (`rm`). Then cache it again, or cache it on a class that copies, with --class."
)
_RECORD = "Runs would not read the recorded version. Record a new one."


@dataclass(frozen=True)
class Order:
    """Which version to verify where, and how long to retry."""

    digest: str
    shelf: Shelf
    root: Path
    workers: int
    patience_seconds: float


def verify(order: Order, verifier: Verifier, progress: CopyProgress) -> Index:
    """Reads every file of a version once; WorkError if files are missing, differ or are extra."""
    try:
        index = wanted(order.shelf, order.digest)
        progress.files_total, progress.bytes_total = index.objects, index.bytes
        tree = _tree(order.root)
        others = _Others(verifier)
        pairs = _matched(tree.walk(), read_entries(order.shelf.get, index), others)
        reader = _Reader(tree, verifier, progress)
        with _in_words("The folder"):
            Crew(order.patience_seconds).work(pairs, reader.read, order.workers)
    except WorkError:
        raise
    except StorageError as error:
        raise WorkError("corrupt", error.message, error.hint) from error
    return index


class _Reader:
    """Reads whole files, so that they are loaded however they are compared."""

    def __init__(self, tree: Tree, verifier: Verifier, progress: CopyProgress) -> None:
        self._tree = tree
        self._verifier = verifier
        self._progress = progress

    def read(self, entry: Entry) -> None:
        """Reads a file; WorkError if it is not the object."""
        digest = hashlib.md5(usedforsecurity=False) if has_md5(entry) else None
        size = 0
        with _in_words(entry.key), self._tree.opened(entry.key) as file:
            while chunk := os.pread(file, _READ_BYTES, size):
                if digest:
                    digest.update(chunk)
                size += len(chunk)
            found = digest.hexdigest() if digest else ""
            if size != entry.size or not self._verifier.verify(entry, file, found):
                raise _changed(f"The content of {entry.key} is not what was recorded.", entry.key)
        self._progress.add(1, size)


def _tree(root: Path) -> Tree:
    try:
        return Tree(root)
    except WorkError as error:
        words = f"{root} is not a folder of the volume, or cannot be read."
        hint = "Check that the import created it and that others may read it."
        raise WorkError("not_found", words, hint) from error


class _Others:
    """Files that are not part of the version; the error depends on why they exist."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._first: list[str] = []
        self.count = 0

    def add(self, key: str) -> None:
        """Adds a file."""
        self.count += 1
        if len(self._first) < _NAMED:
            self._first.append(key)

    def refuse(self) -> None:
        """WorkError if there are such files."""
        new = next((key for key in self._first if self._verifier.is_stored(_shown(key))), None)
        if new is not None:
            raise _changed(f"{_shown(new)!r} exists, but was not recorded.", _shown(new))
        if not self.count:
            return
        names = ", ".join(repr(_shown(key)) for key in self._first)
        more = f" and {self.count - len(self._first):,} more" if self.count > _NAMED else ""
        raise WorkError(
            "left_behind",
            f"{self.count:,} file{'' if self.count == 1 else 's'} of objects that were deleted in"
            f" the bucket still exist{'s' if self.count == 1 else ''}: {names}{more}.",
            _LEFT_BEHIND,
            tuple(map(_shown, self._first)),
        )


def _shown(key: str) -> str:
    return key.encode(errors="surrogateescape").decode(errors="replace")


def _matched(
    found: Iterator[PathEntry], entries: Iterator[Entry], others: _Others
) -> Iterator[Entry]:
    """The objects whose files exist with the right size; both inputs are in key order.

    After the first extra file nothing more is read, but all extra files are counted.
    """
    file = next(found, None)
    for entry in entries:
        while file and file.key.encode(errors="surrogateescape") < entry.key.encode():
            others.add(file.key)
            file = next(found, None)
        if file is None or file.key != entry.key:
            raise _changed(f"{entry.key} does not exist.", entry.key)
        if file.kind != "file" or file.size != entry.size:
            size = f"{file.size} bytes" if file.kind == "file" else f"a {file.kind}"
            raise _changed(f"{entry.key} is {size}, not {entry.size} bytes.", entry.key)
        if not others.count:
            yield entry
        file = next(found, None)
    while file is not None:
        others.add(file.key)
        file = next(found, None)
    others.refuse()


def _changed(message: str, key: str) -> WorkError:
    return WorkError("changed", message, _RECORD, (key,))


@contextlib.contextmanager
def _in_words(what: str) -> Iterator[None]:
    """Rephrases errors of the tree, which are about a push, as errors about reading."""
    try:
        yield
    except OSError as error:
        raise _unread(what, error.strerror or str(error)) from error
    except WorkError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        if error.reason == "no_access":
            words = f"{what} cannot be read by uid {os.geteuid()}."
            hint = "Its owner must let others read it: its mode is in the metadata of its object."
            raise WorkError("no_access", words, hint, error.keys) from error
        if error.reason == "changed":
            raise _changed(f"{what} is no longer a file.", what) from error
        raise _unread(what, error.__cause__.strerror or "unknown") from error


def _unread(what: str, why: str) -> WorkError:
    return WorkError(
        "store_down",
        f"{what} could not be read: {why}.",
        "Loaded files are kept. The next attempt loads the rest.",
    )
