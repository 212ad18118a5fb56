"""Whether what was written is what the store has: by MD5, else its stored checksum, else size."""

import base64
import hashlib
import os
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, Protocol

from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.requests import Requests

Kind = Literal["md5", "checksum", "size"]

_MD5 = re.compile(r"[0-9a-f]{32}")
_READ_BYTES = 1 << 20
# With these the ETag has the form of an MD5 but is none.
_OWN_KEYS = ("aws:kms", "aws:kms:dsse")


class Digest(Protocol):
    """What hashlib and our CRC have in common."""

    def update(self, data: Buffer, /) -> None:
        """Takes more bytes in."""

    def digest(self) -> bytes:
        """The checksum of all of them."""


class Crc32:
    """zlib's CRC as S3 writes it: four bytes, the highest first."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: Buffer, /) -> None:
        """Takes more bytes in."""
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        """The checksum of all of them."""
        return self._value.to_bytes(4, "big")


# What a file's checksum is when it is made of those of its parts.
Composite = Callable[[int, Callable[[], Digest]], str]

_STORED: Mapping[str, Callable[[], Digest]] = {
    "x-amz-checksum-sha256": hashlib.sha256,
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "x-amz-checksum-crc32": Crc32,
}


def has_md5(entry: Entry) -> bool:
    """Whether the ETag has the form of an MD5; those of multipart uploads end in -N."""
    return _MD5.fullmatch(entry.etag) is not None


def md5(data: Buffer) -> str:
    """The MD5 of a whole object, as ETags have it."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class Verifier:
    """Compares files with what the store says of their objects, and counts by what."""

    def __init__(self, requests: Requests, prefix: str, composite: Composite | None = None) -> None:
        self._requests: Final = requests
        self._composite: Final = composite
        self._prefix: Final = prefix
        self._lock: Final = threading.Lock()
        self.counts: Counter[str] = Counter()

    def count(self, kind: Kind) -> None:
        """Takes down by what an object was verified."""
        with self._lock:
            self.counts[kind] += 1

    def verify(self, entry: Entry, descriptor: int, found: str = "") -> bool:
        """Whether the file is the object, after its MD5 (`found`) has not told so."""
        if kind := self.compared(entry, descriptor, found):
            self.count(kind)
        return kind is not None

    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """By what the file is known to be the object; None when it is not."""
        if has_md5(entry):
            if (found or _of_file(descriptor, _new_md5).hex()) == entry.etag:
                return "md5"
            headers = self._told(entry)
            if not _has_own_keys(headers):
                return None
        else:
            headers = self._told(entry)
        for name, new in _STORED.items():
            if expected := self._expected(headers.get(name, ""), descriptor, new):
                return "checksum" if expected == headers[name] else None
        return "size"

    def _expected(self, stored: str, descriptor: int, new: Callable[[], Digest]) -> str:
        """What a stored checksum is to be; empty when there is none that we can know."""
        if stored and "-" not in stored:
            return base64.b64encode(_of_file(descriptor, new)).decode()
        # With -N at its end it is one of the parts' checksums.
        return self._composite(descriptor, new) if stored and self._composite else ""

    def _told(self, entry: Entry) -> Mapping[str, str]:
        query = {} if entry.version_id is None else {"versionId": entry.version_id}
        try:
            answer = self._requests.head(
                self._prefix + entry.key, query, {"x-amz-checksum-mode": "ENABLED"}
            )
        except WorkError as error:
            if error.reason == "store_down":
                raise
            return {}
        return answer.headers


def _has_own_keys(headers: Mapping[str, str]) -> bool:
    return (
        headers.get("x-amz-server-side-encryption", "") in _OWN_KEYS
        or "x-amz-server-side-encryption-customer-algorithm" in headers
    )


def _new_md5() -> Digest:
    return hashlib.md5(usedforsecurity=False)


def _of_file(descriptor: int, new: Callable[[], Digest]) -> bytes:
    digest = new()
    for chunk in _content(descriptor):
        digest.update(chunk)
    return digest.digest()


def _content(descriptor: int) -> Iterator[bytes]:
    place = 0
    while chunk := os.pread(descriptor, _READ_BYTES, place):
        yield chunk
        place += len(chunk)
