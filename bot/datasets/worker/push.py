"""`quartermaster push`: copies the files below a folder to an object store and verifies each."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from bot.datasets.manifest import Entry, Remarks
from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.keys import Remarked, problem
from bot.datasets.worker.listing import sorted_on_disk
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.pushed import Pushed
from bot.datasets.worker.stores.client import StoreClient, Uploader
from bot.datasets.worker.stores.comparing import Kind
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.stores.uploads import AppearedError
from bot.datasets.worker.tree import PathEntry, Tree, became_another
from bot.datasets.worker.verifying import Verifier

_ATTEMPTS = 3
_KEY_BYTES = 1024
_FIRST_PRINTED, _DELETE = " ", "\x7f"


@dataclass(frozen=True)
class Order:
    """What to push where; without `overwrite` an object that differs is an error."""

    tree: Tree
    target: Address
    workers: int
    patience_seconds: float
    overwrite: bool = False


@dataclass(frozen=True)
class Ways:
    """How objects are listed, written and compared."""

    client: StoreClient
    uploader: Uploader
    verifier: Verifier


@dataclass(frozen=True)
class Result:
    """The result of a push; `others` counts objects at the target that are not in the tree."""

    files: int
    bytes: int
    copied_files: int
    copied_bytes: int
    links: Remarks
    others: int


@dataclass
class Task:
    """A file, the object under its key, and whether a first attempt may have changed that."""

    key: str
    stored: Entry | None
    is_retry: bool = False


@dataclass
class Looked:
    """The result of the first walk through the tree."""

    files: int = 0
    bytes: int = 0
    links: Remarked = field(default_factory=Remarked)


def push(order: Order, ways: Ways, progress: CopyProgress) -> Result:
    """Uploads missing files to the target; objects that exist are compared and kept."""
    looked = looked_through(order.tree, order.target.prefix, progress)
    progress.files_total, progress.bytes_total = looked.files, looked.bytes
    progress.phase = "copying"
    with contextlib.closing(Pushed()) as pushed:
        pusher = _Pusher(order, ways, progress, pushed)
        tasks = (Task(found.key, stored) for found, stored in _side_by_side(order, ways) if found)
        pusher.crew.work(tasks, pusher.do, order.workers)
        progress.phase = "verifying"
        others = _others_than_pushed(order, ways, pushed)
    copied = pusher.copied_files, pusher.copied_bytes
    return Result(looked.files, looked.bytes, *copied, looked.links.remarks(), others)


def looked_through(tree: Tree, prefix: str, progress: CopyProgress) -> Looked:
    """Counts the files; WorkError, before anything is pushed, if some cannot be."""
    looked, refused = Looked(), Remarked()
    for found in tree.walk():
        if found.kind == "link":
            looked.links.add(_printed(found.key), "is a symbolic link")
        elif words := refusal(found, prefix):
            refused.add(_printed(found.key), words)
        else:
            looked.files, looked.bytes = looked.files + 1, looked.bytes + found.size
            progress.files_total, progress.bytes_total = looked.files, looked.bytes
    _refuse(refused.remarks())
    if not looked.files:
        raise WorkError("not_found", "There is no file below the source.", "Check its spelling.")
    return looked


def _files(count: int) -> str:
    return "1 file cannot be an object" if count == 1 else f"{count:,} files cannot be objects"


def _refuse(problems: Remarks) -> None:
    if problems.count:
        first = problems.first[0]
        raise WorkError(
            "bad_keys",
            f"{_files(problems.count)}: {first.key} {first.problem}.",
            "Rename or remove them, then push again. Nothing was pushed.",
            tuple(remark.key for remark in problems.first),
        )


def refusal(found: PathEntry, prefix: str) -> str:
    """Why a file cannot be an object that every store and tool can read; empty if it can."""
    if found.kind == "special":
        return "is a pipe, a socket or a device"
    try:
        size = len(f"{prefix}{found.key}".encode())
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if size > _KEY_BYTES:
        return f"makes a key of {size} bytes; object stores allow {_KEY_BYTES}"
    if any(letter < _FIRST_PRINTED or letter == _DELETE for letter in found.key):
        return "has a control character in its name"
    return problem(found.key)


def _printed(key: str) -> str:
    """A key with characters escaped that cannot be printed or sent."""
    plain = key.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in plain)


def _side_by_side(order: Order, ways: Ways) -> Iterator[tuple[PathEntry | None, Entry | None]]:
    """Pairs of files and objects of the same key, in order; objects without a file have None."""
    stored_ones = sorted_on_disk(ways.client.listed(order.target.prefix, versioned=False))
    stored = next(stored_ones, None)
    for found in order.tree.walk():
        if found.kind == "link":
            continue
        if refusal(found, order.target.prefix):
            raise became_another(_printed(found.key))
        while stored and stored.key < found.key:
            yield None, stored
            stored = next(stored_ones, None)
        same = stored is not None and stored.key == found.key
        yield found, stored if same else None
        stored = next(stored_ones, None) if same else stored
    while stored:
        yield None, stored
        stored = next(stored_ones, None)


def _others_than_pushed(order: Order, ways: Ways, pushed: Pushed) -> int:
    """Lists the target again, checks each file's object, and counts the other objects."""
    others = 0
    with contextlib.closing(pushed.in_order()) as expected:
        for found, stored in _side_by_side(order, ways):
            if found is None:
                others += 1
                continue
            known = next(expected, None)
            if known is None or (known.key, known.size) != (found.key, found.size):
                raise became_another(_printed(found.key))
            # Not every store returns the ETag of an upload.
            same = stored is not None and known.etag in {"", stored.etag}
            if stored is None or not same or stored.size != known.size:
                raise _replaced(known.key)
    return others


class _Pusher:
    """Pushes one file at a time in each thread of the crew."""

    def __init__(self, order: Order, ways: Ways, progress: CopyProgress, pushed: Pushed) -> None:
        self.crew: Final = Crew(order.patience_seconds)
        self._order: Final = order
        self._client: Final = ways.client
        self._prefix: Final = order.target.prefix
        self._uploader: Final = ways.uploader
        self._verifier: Final = ways.verifier
        self._progress: Final = progress
        self._lock: Final = threading.Lock()
        self._pushed: Final = pushed
        self.copied_files = self.copied_bytes = 0

    def do(self, task: Task) -> None:
        """Uploads a file, unless the store has it."""
        # If an answer was lost, the object may exist.
        stored = self._stored(task.key) if task.is_retry else task.stored
        task.is_retry = True
        with self._order.tree.opened(task.key) as file:
            size = os.fstat(file).st_size
            if stored and self._is_kept(stored, file, size):
                return
            self._push(task, file, only_new=not self._order.overwrite)

    def _is_kept(self, stored: Entry, file: int, size: int) -> bool:
        """Whether an object is kept; WorkError if it differs and may not be overwritten."""
        if self._is_there(stored, file, size):
            self._pushed.add(stored)
            self._progress.skip(1, size)
            return True
        if not self._order.overwrite:
            raise in_the_way(stored, size)
        return False

    def _is_there(self, stored: Entry, file: int, size: int) -> bool:
        """Whether an object is known to have the file's content; its size alone is not enough."""
        if stored.size != size:
            return False
        kind = self._compared(stored, file, self._uploader.etag(file, size))
        if kind in {"md5", "checksum"}:
            self._verifier.count(kind, size)
            return True
        return False

    def _compared(self, stored: Entry, file: int, expected: str) -> Kind | None:
        if stored.etag == expected:
            return "md5"
        # It may have been uploaded in other parts, or in one.
        return self._verifier.compared(stored, file, "" if "-" in expected else expected)

    def _push(self, task: Task, file: int, *, only_new: bool) -> None:
        for _ in range(_ATTEMPTS):
            before = os.fstat(file)
            try:
                expected, given = self._uploader.upload(
                    task.key, file, before.st_size, only_new=only_new
                )
            except AppearedError:
                self._look_at_what_appeared(task, file, before.st_size)
                return
            after = os.fstat(file)
            if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                self._take_back(task)
                raise became_another(task.key)
            stored = Entry(task.key, before.st_size, given)
            if kind := self._compared(stored, file, expected):
                self._verifier.count(kind, before.st_size)
                self._pushed.add(stored)
                self._done(before.st_size)
                return
            self._take_back(task)
        raise WorkError(
            "corrupt",
            f"The store reports a different checksum for {task.key} than the file has.",
            "Check the store. Objects that were pushed before are kept.",
            (task.key,),
        )

    def _look_at_what_appeared(self, task: Task, file: int, size: int) -> None:
        """Compares an object that appeared: it may be ours, if an answer was lost."""
        stored = self._stored(task.key)
        if stored is None:
            words = f"{task.key} appears and disappears in the store: another client writes there."
            raise WorkError("store_down", words, _ALONE, (task.key,))
        self._is_kept(stored, file, size)

    def _stored(self, key: str) -> Entry | None:
        """The object under a key; None without one."""
        found = self._client.head(self._prefix + key)
        return Entry(key, found.size, found.etag) if found else None

    def _take_back(self, task: Task) -> None:
        """Removes an object that is not the file, if there was none before."""
        if task.stored is None:
            self._client.remove(self._prefix + task.key)

    def _done(self, size: int) -> None:
        self._progress.add(1, size)
        with self._lock:
            self.copied_files += 1
            self.copied_bytes += size


def in_the_way(stored: Entry, size: int) -> WorkError:
    """The error for an object that is not the file, and may not be replaced."""
    return WorkError(
        "wrong_input",
        f"{stored.key} is already in the store with different content ({stored.size} bytes in the"
        f" store, {size} in the folder).",
        "Push to another prefix, or use --overwrite if no version needs the existing object.",
        (stored.key,),
    )


def _replaced(key: str) -> WorkError:
    return WorkError(
        "changed",
        f"{key} in the store is not what was pushed: another client has written there.",
        _ALONE,
        (key,),
    )


_ALONE = "Push again when nothing else writes below the target."
