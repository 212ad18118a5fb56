"""Splits a file into parts for an upload, and computes the ETag that it gets."""

import os
from collections.abc import Iterator, Sequence

from bot.datasets.worker.checksums import equal_parts, etag_of_parts, new_md5, of_file

PART_BYTES = 8 << 20
# The limit of S3.
_MOST_PARTS = 10_000
_MIB = 1 << 20


def part_bytes(size: int) -> int:
    """The part size for a file of that size; a file of one part is uploaded as a whole.

    It is the same for every push, as the ETag depends on it.
    """
    least = -(-size // _MOST_PARTS)
    return max(PART_BYTES, -(-least // _MIB) * _MIB)


class Parts:
    """Reads a file part by part; `etag` is valid once all parts were read."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._digests: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        self._digests = []
        for part in read_parts(self._descriptor, self._size, part_bytes(self._size)):
            self._digests.append(new_md5(part).digest())
            yield part

    @property
    def etag(self) -> str:
        """The ETag that the store should return."""
        return _etag(self._digests)


def read_parts(descriptor: int, size: int, step: int) -> Iterator[bytes]:
    """The content of a file of that size, in parts of `step` bytes."""
    place = 0
    for each in equal_parts(size, step):
        yield read_span(descriptor, place, each)
        place += each


def etag(descriptor: int, size: int) -> str:
    """The ETag that a file has once it is pushed."""
    step = part_bytes(size)
    if size <= step:
        return of_file(descriptor, new_md5).hex()
    return etag_of_parts(descriptor, equal_parts(size, step))


def _etag(digests: Sequence[bytes]) -> str:
    """The MD5 of a file of one part; else the MD5 of the parts' MD5s, and their number."""
    if len(digests) == 1:
        return digests[0].hex()
    return f"{new_md5(b''.join(digests)).hexdigest()}-{len(digests)}"


def read_span(descriptor: int, first: int, size: int) -> bytes:
    """`size` bytes of a file from `first` on; fewer only if the file has been shortened."""
    found = os.pread(descriptor, size, first)
    while more := os.pread(descriptor, size - len(found), first + len(found)):
        found += more
    return found
