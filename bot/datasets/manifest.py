"""What a version of a dataset is: a sorted list of its objects, and the digest of that list.

Each object is one line, a JSON array `[key, size, etag, version id or null]` without spaces, in
UTF-8, ended by a line feed; the lines are in the order of the keys' UTF-8 bytes. The digest is the
SHA-256 of all lines, written `sha256:<hex>`. How the lines are cut into parts, and how those are
compressed, does not change it.
"""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from bot.errors import StorageError

FORMAT = 1
INDEX_NAME = "index.json"
PART_OBJECTS = 50_000
# Level 6 takes three times as long, and saves an eighth.
_COMPRESSION_LEVEL = 2
_GZIP = zlib.MAX_WBITS + 16
_BATCH_OBJECTS = 1_000


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One object: its key below the source's prefix, size in bytes, ETag without quotes.

    `version_id` is the store's own, and None where the bucket is not versioned.
    """

    key: str
    size: int
    etag: str
    version_id: str | None = None


class ManifestPart(msgspec.Struct, frozen=True):
    """One file of lines; `sha256` is that of the compressed file."""

    name: str
    objects: int
    bytes: int
    first_key: str
    sha256: str


class Remark(msgspec.Struct, frozen=True):
    """A problem or warning about a key."""

    key: str
    problem: str


class Remarks(msgspec.Struct, frozen=True):
    """The number of remarks, and the first of them."""

    count: int = 0
    first: tuple[Remark, ...] = ()


class SurveyFindings(msgspec.Struct, frozen=True):
    """What a survey found besides the objects.

    `problems` are keys that cannot be files; a version with one cannot be cached. `warnings` may
    matter. `folders` counts the empty objects that stand for folders, which are left out.
    """

    versioned: bool = False
    folders: int = 0
    problems: Remarks = Remarks()
    warnings: Remarks = Remarks()


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """index.json, which is written last: without it there is no manifest."""

    format: int = FORMAT
    digest: str
    objects: int
    bytes: int
    source: str
    findings: SurveyFindings = SurveyFindings()
    parts: tuple[ManifestPart, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """How one key differs; `rewritten` is the same content under another version id."""

    kind: Literal["added", "removed", "changed", "rewritten"]
    key: str
    before: Entry | None
    after: Entry | None


Put = Callable[[str, bytes], None]
Get = Callable[[str], bytes]

_ENCODER = msgspec.json.Encoder()
_ENTRIES = msgspec.json.Decoder(Entry)
_INDEX = msgspec.json.Decoder(Index)


class ManifestWriter:
    """Writes entries as parts through `put(name, content)`, one part in memory at a time."""

    def __init__(self, put: Put, part_objects: int = PART_OBJECTS) -> None:
        self._put = put
        self._part_objects = part_objects
        self._digest = hashlib.sha256()
        self._parts: list[ManifestPart] = []
        self._open = _OpenPart()
        self._batch: list[Entry] = []
        self._last: str | None = None

    def add(self, entry: Entry) -> None:
        """Appends an entry; ValueError when its key does not come after the one before."""
        if self._last is not None and entry.key <= self._last:
            raise ValueError(f"{entry.key!r} does not come after {self._last!r}")
        self._last = entry.key
        self._batch.append(entry)
        full = self._open.objects + len(self._batch) >= self._part_objects
        if full or len(self._batch) >= _BATCH_OBJECTS:
            self._flush()
        if full:
            self._close_part()

    def close(self, source: str) -> Index:
        """Writes the last part; the index it returns is for `write_index`."""
        self._flush()
        if self._open.objects:
            self._close_part()
        return Index(
            digest=f"sha256:{self._digest.hexdigest()}",
            objects=sum(part.objects for part in self._parts),
            bytes=sum(part.bytes for part in self._parts),
            source=source,
            parts=tuple(self._parts),
        )

    def _flush(self) -> None:
        if self._batch:
            lines = _ENCODER.encode_lines(self._batch)
            self._digest.update(lines)
            self._open.append(self._batch, lines)
            self._batch = []

    def _close_part(self) -> None:
        part, content = self._open.closed(f"part-{len(self._parts):05}.jsonl.gz")
        self._put(part.name, content)
        self._parts.append(part)
        self._open = _OpenPart()


class _OpenPart:
    """A part that is being written."""

    def __init__(self) -> None:
        self.objects = 0
        self._bytes = 0
        self._first_key = ""
        self._packed = bytearray()
        # It writes no time into the header, so the same lines give the same file.
        self._packer = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_GZIP)

    def append(self, entries: Sequence[Entry], lines: bytes) -> None:
        self._first_key = self._first_key if self.objects else entries[0].key
        self.objects += len(entries)
        self._bytes += sum(entry.size for entry in entries)
        self._packed += self._packer.compress(lines)

    def closed(self, name: str) -> tuple[ManifestPart, bytes]:
        content = bytes(self._packed + self._packer.flush())
        checksum = hashlib.sha256(content).hexdigest()
        return ManifestPart(name, self.objects, self._bytes, self._first_key, checksum), content


def write_index(put: Put, index: Index) -> None:
    """Writes the index, which completes the manifest."""
    put(INDEX_NAME, msgspec.json.format(_ENCODER.encode(index), indent=1))


def read_index(get: Get) -> Index:
    """The index, read by `get(name)`; StorageError if it is damaged or of another format."""
    content = get(INDEX_NAME)
    try:
        index = _INDEX.decode(content)
    except msgspec.DecodeError as error:
        raise _damaged(f"{INDEX_NAME} cannot be read: {error}") from error
    if index.format != FORMAT:
        raise StorageError(
            f"The manifest has format {index.format}; this version reads format {FORMAT}.",
            "Use a version of Quartermaster at least as new as the one that wrote it.",
        )
    return index


def read_entries(get: Get, index: Index) -> Iterator[Entry]:
    """All entries in order, with one part in memory at a time.

    StorageError, at the latest after the last entry, if they do not match the digest.
    """
    digest = hashlib.sha256()
    for part in index.parts:
        lines = _lines(get, part)
        digest.update(lines)
        yield from _ENTRIES.decode_lines(lines)
    if f"sha256:{digest.hexdigest()}" != index.digest:
        raise _damaged(f"its parts do not match the digest {index.digest}")


def read_part(get: Get, part: ManifestPart) -> list[Entry]:
    """The entries of one part in order; StorageError if it is not the part in the index."""
    return _ENTRIES.decode_lines(_lines(get, part))


class ManifestTotals(NamedTuple):
    """What a list of objects adds up to, with the digest that a manifest of them has."""

    digest: str
    objects: int
    bytes: int


def totals_of(entries: Iterator[Entry]) -> ManifestTotals:
    """The totals of objects in order, with a few of them in memory at a time."""
    digest, objects, size = hashlib.sha256(), 0, 0
    while batch := list(islice(entries, _BATCH_OBJECTS)):
        digest.update(_ENCODER.encode_lines(batch))
        objects += len(batch)
        size += sum(entry.size for entry in batch)
    return ManifestTotals(f"sha256:{digest.hexdigest()}", objects, size)


def _lines(get: Get, part: ManifestPart) -> bytes:
    content = get(part.name)
    if hashlib.sha256(content).hexdigest() != part.sha256:
        raise _damaged(f"{part.name} differs from the file that was written")
    return gzip.decompress(content)


def _damaged(what: str) -> StorageError:
    return StorageError(
        f"The manifest is damaged: {what}.", "Record the version again: /dataset version NAME"
    )


def differences(before: Iterator[Entry], after: Iterator[Entry]) -> Iterator[Change]:
    """What changed between two sorted lists of entries, in key order; holds two at a time."""
    old, new = next(before, None), next(after, None)
    while old or new:
        if new is None or (old is not None and old.key < new.key):
            yield Change("removed", old.key if old else "", old, None)
            old = next(before, None)
        elif old is None or new.key < old.key:
            yield Change("added", new.key, None, new)
            new = next(after, None)
        else:
            if old != new:
                same = (old.size, old.etag) == (new.size, new.etag)
                yield Change("rewritten" if same else "changed", new.key, old, new)
            old, new = next(before, None), next(after, None)
