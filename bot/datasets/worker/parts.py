"""The parts in which a file goes to a store, and the ETag that it has there afterwards."""

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence

from bot.datasets.worker.verifying import Digest

PART_BYTES = 8 << 20
# S3 takes no more.
_MOST_PARTS = 10_000
_MIB = 1 << 20


def part_bytes(size: int) -> int:
    """How large the parts of a file of that size are; a file of one part goes as a whole.

    The same for every push, since the ETag depends on it.
    """
    least = -(-size // _MOST_PARTS)
    return max(PART_BYTES, -(-least // _MIB) * _MIB)


class Parts:
    """Reads a file part by part, and knows its ETag when all of them were read."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._digests: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        self._digests = []
        for first, size in _ranges(self._size):
            part = _read(self._descriptor, first, size)
            self._digests.append(_md5(part).digest())
            yield part

    @property
    def etag(self) -> str:
        """What the store is to give."""
        return _etag(self._digests)


def etag(descriptor: int, size: int) -> str:
    """The ETag that a file has once it is pushed."""
    return _etag(list(_digests(descriptor, size, _md5)))


def composite(descriptor: int, new: Callable[[], Digest]) -> str:
    """The checksum of a large file that is kept with it: that of its parts' checksums."""
    digests = list(_digests(descriptor, os.fstat(descriptor).st_size, new))
    whole = new()
    whole.update(b"".join(digests))
    return f"{base64.b64encode(whole.digest()).decode()}-{len(digests)}"


def _etag(digests: Sequence[bytes]) -> str:
    """MD5 of a whole file; of the parts' MD5s, and how many they are, of a large one."""
    if len(digests) == 1:
        return digests[0].hex()
    return f"{_md5(b''.join(digests)).hexdigest()}-{len(digests)}"


def _digests(descriptor: int, size: int, new: Callable[[], Digest]) -> Iterator[bytes]:
    """Each part's digest, without holding a part."""
    for first, length in _ranges(size):
        digest = new()
        for place in range(first, first + length, _MIB):
            digest.update(_read(descriptor, place, min(_MIB, first + length - place)))
        yield digest.digest()


def _md5(content: bytes = b"") -> "hashlib._Hash":
    return hashlib.md5(content, usedforsecurity=False)


def _ranges(size: int) -> Iterator[tuple[int, int]]:
    step = part_bytes(size)
    return ((first, min(step, size - first)) for first in range(0, max(size, 1), step))


def _read(descriptor: int, first: int, size: int) -> bytes:
    """So much from there on; less only where the file ends sooner than it did."""
    found = os.pread(descriptor, size, first)
    while more := os.pread(descriptor, size - len(found), first + len(found)):
        found += more
    return found
