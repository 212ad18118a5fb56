"""Computes the checksums that stores keep with objects, of whole files and of parts."""

import base64
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from typing_extensions import Buffer

_READ_BYTES = 1 << 20


class Digest(Protocol):
    """The common interface of hashlib and our CRC."""

    def update(self, data: Buffer, /) -> None:
        """Adds bytes."""

    def digest(self) -> bytes:
        """The checksum of all bytes."""


Algorithm = Callable[[], Digest]


class Crc:
    """A CRC as S3 writes it: the highest byte first."""

    def __init__(self, compute: Callable[[Buffer, int], int], size: int) -> None:
        self._compute = compute
        self._size = size
        self._value = 0

    def update(self, data: Buffer, /) -> None:
        """Adds bytes."""
        self._value = self._compute(data, self._value)

    def digest(self) -> bytes:
        """The checksum of all bytes."""
        return self._value.to_bytes(self._size, "big")


def _crc32() -> Crc:
    return Crc(zlib.crc32, 4)


def _crc32c() -> Crc:
    from awscrt import checksums  # noqa: PLC0415 - 12 MB that few stores call for

    return Crc(checksums.crc32c, 4)


def _crc64nvme() -> Crc:
    from awscrt import checksums  # noqa: PLC0415 - see above

    return Crc(checksums.crc64nvme, 8)


def new_md5(content: bytes = b"") -> "hashlib._Hash":
    """An MD5 that is not used for security."""
    return hashlib.md5(content, usedforsecurity=False)


# By the header in which a store tells them, the strongest first.
ALGORITHMS: Mapping[str, Algorithm] = {
    "x-amz-checksum-sha256": hashlib.sha256,
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "x-amz-checksum-crc64nvme": _crc64nvme,
    "x-amz-checksum-crc32c": _crc32c,
    "x-amz-checksum-crc32": _crc32,
}


def of_file(descriptor: int, new: Algorithm) -> bytes:
    """The checksum of a whole file."""
    digest, place = new(), 0
    while chunk := os.pread(descriptor, _READ_BYTES, place):
        digest.update(chunk)
        place += len(chunk)
    return digest.digest()


def of_parts(descriptor: int, sizes: Sequence[int], new: Algorithm) -> str:
    """The checksum of the checksums of a file's parts, with the number of parts."""
    digests = list(_of_each(descriptor, sizes, new))
    whole = new()
    whole.update(b"".join(digests))
    return f"{base64.b64encode(whole.digest()).decode()}-{len(digests)}"


def etag_of_parts(descriptor: int, sizes: Sequence[int]) -> str:
    """The ETag of a file uploaded in parts of these sizes."""
    digests = list(_of_each(descriptor, sizes, new_md5))
    return f"{new_md5(b''.join(digests)).hexdigest()}-{len(digests)}"


def equal_parts(size: int, step: int) -> list[int]:
    """The sizes of parts that are all `step` bytes, except the last one."""
    return [min(step, size - first) for first in range(0, max(size, 1), step)]


def _of_each(descriptor: int, sizes: Sequence[int], new: Algorithm) -> Iterator[bytes]:
    """The checksum of each part, without a whole part in memory."""
    place = 0
    for size in sizes:
        digest, end = new(), place + size
        while chunk := os.pread(descriptor, min(_READ_BYTES, end - place), place):
            digest.update(chunk)
            place += len(chunk)
        yield digest.digest()
