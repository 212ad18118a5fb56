"""Copies objects to files: in parallel, large ones in pieces, each verified before it counts."""

import errno
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.records import Record
from bot.datasets.worker.stores.comparing import has_md5, md5
from bot.datasets.worker.stores.engine import Engine
from bot.datasets.worker.verifying import Verifier
from bot.datasets.worker.volume import TargetFolder

IN_MEMORY_BYTES = 1 << 20
PIECE_BYTES = 16 << 20
_IN_PIECES_BYTES = 2 * PIECE_BYTES
# Servers store large objects in parts and read whole parts for a range, so fewer pieces mean less
# data read twice.
_PIECES, _LARGEST_PIECE_BYTES = 4, 64 << 20
_ATTEMPTS = 3
_FLUSH_SECONDS, _SYNC_FLUSHES = 1.0, 30


@dataclass
class Object:
    """One object to copy; `known`: an earlier attempt has copied it."""

    ordinal: int
    entry: Entry
    known: bool
    pieces_left: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def piece_done(self) -> bool:
        """Marks a piece as done; True if it was the last one."""
        with self.lock:
            # The last piece may be done again, when its verification was not answered.
            self.pieces_left = max(0, self.pieces_left - 1)
            return self.pieces_left == 0


@dataclass(frozen=True, slots=True)
class Task:
    """An object to copy, or `size` bytes of a large one from `first` on."""

    object: Object
    first: int = 0
    size: int = -1


@dataclass(frozen=True)
class Ways:
    """How objects are read and verified."""

    engine: Engine
    verifier: Verifier


class Copier:
    """Copies objects; the first failure ends the copy."""

    def __init__(
        self,
        ways: Ways,
        volume: TargetFolder,
        record: Record,
        progress: CopyProgress,
        patience_seconds: float,
    ) -> None:
        self._volume: Final = volume
        self._engine: Final = ways.engine
        self._verifier: Final = ways.verifier
        self._crew: Final = Crew(patience_seconds)
        self._record: Final = record
        self._progress: Final = progress
        self._lock: Final = threading.Lock()
        self._seen = self._kept = 0
        self.copied_files = self.copied_bytes = 0

    def run(self, objects: Iterable[Object], workers: int) -> None:
        """Copies all objects, records them and makes them durable; raises the first failure."""
        self._crew.work(self._tasks(objects), self._do, workers, self._keep_records)
        if self._seen != self._kept + self.copied_files:
            raise RuntimeError(
                f"{self._seen} objects, {self._kept} kept, {self.copied_files} copied"
            )
        self._record.sync(self._volume.sync)

    def _tasks(self, objects: Iterable[Object]) -> Iterator[Task]:
        """The tasks, with large objects cut into pieces."""
        for found in objects:
            self._seen += 1
            size = found.entry.size
            if found.known or size <= _IN_PIECES_BYTES:
                yield Task(found)
                continue
            piece = piece_bytes(size)
            firsts = range(0, size, piece)
            found.pieces_left = len(firsts)
            for first in firsts:
                yield Task(found, first, min(piece, size - first))

    def _keep_records(self) -> None:
        flushes = 0
        while not self._crew.ended.wait(_FLUSH_SECONDS):
            self._record.flush()
            flushes += 1
            if flushes % _SYNC_FLUSHES == 0:
                self._record.sync(self._volume.sync)

    def _do(self, task: Task) -> None:
        entry = task.object.entry
        if task.object.known and self._volume.has(entry.key, entry.size):
            with self._lock:
                self._kept += 1
            self._progress.skip(1, entry.size)
        elif task.size >= 0:
            self._copy_piece(task)
        else:
            self._copy(task.object, entry.size)

    def _copy(self, found: Object, told: int) -> None:
        """Copies a whole object; `told` is the number of bytes to add to the progress."""
        for _ in range(_ATTEMPTS):
            if self._copied(found.entry):
                self._done(found, told)
                return
        raise corrupt(found.entry)

    def _copied(self, entry: Entry) -> bool:
        """Copies an object; True if what was written is verified."""
        if entry.size <= IN_MEMORY_BYTES:
            return self._copied_at_once(entry)
        digest = hashlib.md5(usedforsecurity=False) if has_md5(entry) else None
        with self._volume.writing(entry.key) as file:
            place = 0
            for chunk in self._engine.chunks(entry, 0, entry.size):
                if digest:
                    digest.update(chunk)
                place += write(file, chunk, place)
            return place == entry.size and self._verifier.verify(
                entry, file, digest.hexdigest() if digest else ""
            )

    def _copied_at_once(self, entry: Entry) -> bool:
        content = memoryview(self._engine.whole(entry))
        if content.nbytes != entry.size:
            return False
        found = md5(content) if has_md5(entry) else ""
        with self._volume.writing(entry.key) as file:
            write(file, content, 0)
            if found and found == entry.etag:
                self._verifier.count("md5", entry.size)
                return True
            return self._verifier.verify(entry, file, found)

    def _copy_piece(self, task: Task) -> None:
        entry = task.object.entry
        with self._volume.writing(entry.key, new=False) as file:
            place = task.first
            for chunk in self._engine.chunks(entry, task.first, task.size):
                place += write(file, chunk, place)
            if place != task.first + task.size:
                raise corrupt(entry)
            self._progress.add(0, task.size)
            if not task.object.piece_done():
                return
            os.ftruncate(file, entry.size)
            right = self._verifier.verify(entry, file)
        if right:
            self._done(task.object, 0)
        else:
            self._copy(task.object, told=0)

    def _done(self, found: Object, told: int) -> None:
        self._progress.add(1, told)
        with self._lock:
            self.copied_files += 1
            self.copied_bytes += found.entry.size
        self._record.add(found.ordinal, found.entry.size)


def piece_bytes(size: int) -> int:
    """The size of the pieces of a large object: a fourth of it, from 16 MiB to 64 MiB."""
    fourth = -(-size // (_PIECES * PIECE_BYTES)) * PIECE_BYTES
    return min(fourth, _LARGEST_PIECE_BYTES)


def write(file: int, content: Buffer, place: int) -> int:
    """Writes all content at a position of the file, and returns its number of bytes."""
    left = memoryview(content)
    total = left.nbytes
    while left.nbytes:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written
    return total


def corrupt(entry: Entry) -> WorkError:
    """The error for an object that differs from what the store reports."""
    return WorkError(
        "corrupt",
        f"{entry.key} differs in size or checksum from what the store reports.",
        "Check this object in the store. The other objects that were copied are kept.",
        (entry.key,),
    )


def is_full(error: OSError) -> bool:
    """Whether the error says that the volume, or its quota, is full."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}
