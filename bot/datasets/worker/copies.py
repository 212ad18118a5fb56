"""Copies of a version's objects, which outlive what they were copied from.

A copy is named after the SHA-256 of the object's line in the manifest. So versions share the copies
of objects that did not change between them, and whoever reads a manifest finds its copies. If an
object's ETag looks like an MD5, what the worker itself wrote adds `-read`, or `-other` if that ETag
is none, as with keys of KMS. The content of all but the latter must have the MD5 of the ETag.
"""

import contextlib
import hashlib
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
from typing_extensions import Buffer, override

from bot.datasets.manifest import Entry, Index, read_entries
from bot.datasets.worker.checksums import new_md5, of_file
from bot.datasets.worker.copying import IN_MEMORY_BYTES, Ways, corrupt, is_full, write
from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.client import ServerCopies, StoreClient
from bot.datasets.worker.stores.comparing import Kind, has_md5
from bot.datasets.worker.stores.engine import Engine, UnfitError
from bot.datasets.worker.stores.uploads import ByteBudget
from bot.datasets.worker.survey import Shelf
from bot.datasets.worker.verifying import Verifier

# The pod's disk for them holds 10 GiB.
LARGEST_STREAMED_BYTES = 8 << 30
_ATTEMPTS = 3
_READ, _OTHER = "-read", "-other"
_Read = TypeVar("_Read")
_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True)
class CopyFolder:
    """The folder of a dataset's copies; `server` copies within the store, if it can."""

    client: StoreClient
    prefix: str
    server: ServerCopies | None = None

    def find(self, entry: Entry) -> Entry | None:
        """The copy of an object, as an entry of the folder; None without one."""
        return next(self._stored(entry), None)

    def has(self, entry: Entry) -> bool:
        """Whether there is a copy that is verified.

        The store itself makes one before it is verified, and the worker may die in between.
        """
        return any(
            stored.key != name_of(entry)
            or stored.etag == entry.etag
            or not has_md5(entry)
            or entry.size > LARGEST_STREAMED_BYTES
            for stored in self._stored(entry)
        )

    def _stored(self, entry: Entry) -> Iterator[Entry]:
        for name in names_of(entry):
            stored = self.client.head(self.prefix + name)
            if stored is not None and stored.size == entry.size:
                yield Entry(name, stored.size, stored.etag, stored.version_id)

    def remove(self, name: str) -> None:
        """Deletes a copy."""
        self.client.remove(self.prefix + name)


@dataclass(frozen=True)
class CopyOrder:
    """Which version to copy, and how long to retry."""

    index: Index
    shelf: Shelf
    workers: int
    patience_seconds: float


def name_of(entry: Entry) -> str:
    """The name of the object's copy: the SHA-256 of its line in the manifest."""
    return hashlib.sha256(_ENCODER.encode(entry)).hexdigest()


def names_of(entry: Entry) -> tuple[str, ...]:
    """The names that the object's copy may have."""
    name = name_of(entry)
    return (name, f"{name}{_READ}", f"{name}{_OTHER}") if has_md5(entry) else (name,)


class VersionCopier:
    """Copies a version's objects that have no copy yet; `ways` read and verify the originals."""

    def __init__(
        self, order: CopyOrder, folder: CopyFolder, ways: Ways, tell: CopyProgress
    ) -> None:
        self._order: Final = order
        self._folder: Final = folder
        self._ways: Final = ways
        self._progress: Final = tell
        self._server = folder.server
        self._uploader: Final = folder.client.uploader(folder.prefix)
        self._written: Final = Verifier(folder.client, folder.prefix, are_ours=True)
        self._disk: Final = ByteBudget(LARGEST_STREAMED_BYTES)
        self._lock: Final = threading.Lock()
        self.copied_files = self.copied_bytes = 0
        self.verified_by: Final = Counter[str]()
        self.verified_bytes: Final = Counter[str]()

    def run(self) -> None:
        """Copies what is missing; WorkError (changed) if an object is not the recorded one."""
        index = self._order.index
        self._progress.phase = "copying"
        self._progress.set(0, 0)
        self._progress.files_total, self._progress.bytes_total = index.objects, index.bytes
        entries = read_entries(self._order.shelf.get, index)
        Crew(self._order.patience_seconds).work(entries, self._do, self._order.workers)

    def _do(self, entry: Entry) -> None:
        # A copy is written at once or not at all, of the recorded content.
        if self._folder.has(entry):
            self._progress.skip(1, entry.size)
            return
        name = name_of(entry)
        kind = self._copied_by_server(entry, name) or self._streamed(entry, name)
        with self._lock:
            self.copied_files += 1
            self.copied_bytes += entry.size
            self.verified_by[kind] += 1
            self.verified_bytes[kind] += entry.size
        self._progress.add(1, entry.size)

    def _copied_by_server(self, entry: Entry, name: str) -> Kind | None:
        """Copies within the store; None if this cannot be done, or not be verified."""
        if self._server is None:
            return None
        try:
            kind = self._server.copy(entry, name)
        except UnfitError:
            self._server = None
            return None
        is_wanted = kind == "md5" or (kind == "checksum" and not has_md5(entry))
        if not is_wanted and entry.size <= LARGEST_STREAMED_BYTES:
            self._folder.remove(name)
            return None
        return kind

    def _streamed(self, entry: Entry, name: str) -> Kind:
        """Copies by way of the pod's disk, where the content is verified before it is written."""
        if entry.size > LARGEST_STREAMED_BYTES:
            raise WorkError(
                "wrong_input",
                f"{entry.key} has {entry.size:,} bytes. Objects of more than"
                f" {LARGEST_STREAMED_BYTES:,} bytes can only be copied within a store.",
                "Set `datasets.state` to a bucket in the store of the dataset.",
                (entry.key,),
            )
        with self._disk.taken(entry.size), _scratch(entry) as file:
            kind = self._read(entry, file)
            ending = _READ if kind == "md5" else _OTHER
            self._write(entry, f"{name}{ending}" if has_md5(entry) else name, file)
        return kind

    def _read(self, entry: Entry, file: int) -> Kind:
        for _ in range(_ATTEMPTS):
            os.ftruncate(file, 0)
            size = 0
            if entry.size <= IN_MEMORY_BYTES:
                size = write(file, self._ways.engine.whole(entry), 0)
            else:
                for chunk in self._ways.engine.chunks(entry, 0, entry.size):
                    size += write(file, chunk, size)
            if size == entry.size and (kind := self._ways.verifier.compared(entry, file)):
                return kind
        raise corrupt(entry)

    def _write(self, entry: Entry, name: str, file: int) -> None:
        for _ in range(_ATTEMPTS):
            expected, given = self._uploader.upload(name, file, entry.size)
            if given == expected:
                return
            stored = self._folder.client.head(self._folder.prefix + name)
            same = stored is not None and stored.size == entry.size
            if same and self._written.compared(Entry(name, entry.size, given), file):
                return
            self._folder.remove(name)
        raise WorkError(
            "corrupt",
            f"The store reports a different checksum for the copy of {entry.key} than was sent.",
            "Check the store of `datasets.state`. Other copies are kept.",
            (entry.key,),
        )


@contextlib.contextmanager
def _scratch(entry: Entry) -> Iterator[int]:
    try:
        with tempfile.TemporaryFile(prefix="quartermaster-") as file:
            yield file.fileno()
    except OSError as error:
        full = is_full(error)
        raise WorkError(
            "no_room" if full else "store_down",
            f"{entry.key} could not be copied by way of the pod's disk: {error.strerror or error}.",
            "Give the nodes more ephemeral storage, or set `datasets.state` to a bucket in the"
            " store of the dataset."
            if full
            else "",
            (entry.key,),
        ) from error


class CopiedObjects:
    """The copies that stand in for objects that were overwritten or deleted; thread-safe."""

    def __init__(self, folder: CopyFolder, engine: Engine) -> None:
        self.engine: Final = engine
        self._folder: Final = folder
        self._verifier: Final = Verifier(folder.client, folder.prefix, are_ours=True)
        self._lock: Final = threading.Lock()
        self._used: Final = set[str]()

    @property
    def used(self) -> int:
        """How many objects were read from their copies."""
        return len(self._used)

    def find(self, entry: Entry) -> Entry | None:
        """The copy of an object, which is now read instead; None without one."""
        stored = self._folder.find(entry)
        if stored is not None:
            with self._lock:
                self._used.add(entry.key)
        return stored

    def is_used(self, entry: Entry) -> bool:
        """Whether an object was read from its copy; the store may now have another object."""
        return entry.key in self._used

    def compared(self, entry: Entry, descriptor: int, found: str) -> Kind | None:
        """How a file is verified as the copy of an object; None if it differs."""
        if has_md5(entry) and (found or of_file(descriptor, new_md5).hex()) == entry.etag:
            return "md5"
        stored = self._folder.find(entry)
        if stored is None or (has_md5(entry) and not stored.key.endswith(_OTHER)):
            return None
        return self._verifier.compared(stored, descriptor, found)


class EngineWithCopies:
    """Reads originals, and copies of those that are no longer what was recorded."""

    def __init__(self, originals: Engine, copies: CopiedObjects) -> None:
        self._originals: Final = originals
        self._copies: Final = copies

    @property
    def name(self) -> str:
        """The name of the engine that reads the originals."""
        return self._originals.name

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object."""
        return self._either(entry, lambda engine, found: engine.whole(found))

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        """Some bytes of an object."""
        return self._either(entry, lambda engine, found: engine.chunks(found, first, size))

    def _either(self, entry: Entry, read: Callable[[Engine, Entry], _Read]) -> _Read:
        try:
            return read(self._originals, entry)
        except WorkError as error:
            stored = self._copies.find(entry) if error.reason == "changed" else None
            if stored is None:
                raise
            return read(self._copies.engine, stored)


class VerifierWithCopies(Verifier):
    """Verifies files whose objects were read from their copies by these."""

    def __init__(self, client: StoreClient, prefix: str, copies: CopiedObjects) -> None:
        super().__init__(client, prefix)
        self._copies: Final = copies

    @override
    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """The method by which the file is verified as the object; None if it differs."""
        if self._copies.is_used(entry):
            return self._copies.compared(entry, descriptor, found)
        return super().compared(entry, descriptor, found)
