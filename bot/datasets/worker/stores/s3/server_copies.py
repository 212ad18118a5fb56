"""Copies objects within an S3-compatible store, without reading them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import equal_parts
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.comparing import Kind, has_md5
from bot.datasets.worker.stores.engine import UnfitError
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.obstore_engine import changed, gone
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.splits import Splits
from bot.datasets.worker.stores.s3.xml import error_code, etag_of, put_together, upload_id
from bot.datasets.worker.stores.settings import Address

_LARGEST_AT_ONCE_BYTES, _PIECE_BYTES = 5 << 30, 1 << 30
_NOT_FOUND, _PRECONDITION, _NOT_IMPLEMENTED = 404, 412, 501
_CHECKSUMS = ("x-amz-checksum-sha256", "x-amz-checksum-sha1", "x-amz-checksum-crc64nvme",
              "x-amz-checksum-crc32c", "x-amz-checksum-crc32")  # fmt: skip
# Copying tags, too, takes another right.
_WITHOUT_TAGS = {"x-amz-tagging-directive": "REPLACE"}


class S3ServerCopies:
    """Copies objects below one prefix to another prefix of the same store; thread-safe.

    `source` and `target` are requests to the two buckets. Objects of more than `most_bytes` are
    copied in parts.
    """

    def __init__(
        self,
        source: Requests,
        origin: Address,
        target: Requests,
        target_prefix: str,
        most_bytes: int = _LARGEST_AT_ONCE_BYTES,
    ) -> None:
        self._source: Final = source
        self._origin: Final = origin
        self._target: Final = target
        self._target_prefix: Final = target_prefix
        self._most_bytes: Final = most_bytes
        self._splits: Final = Splits(source, origin.prefix)

    def copy(self, entry: Entry, name: str) -> Kind:
        """Copies the recorded object, and no later one; returns how the copy was verified."""
        key = self._target_prefix + name
        try:
            if entry.size <= self._most_bytes:
                given = self._copy_at_once(entry, key)
            else:
                given = self._copy_in_parts(entry, key)
        except RefusedError as refusal:
            raise _refused(refusal, entry.key) from refusal
        if given == entry.etag:
            return "md5"
        return "checksum" if self._has_same_checksum(entry, key) else "size"

    def _copy_at_once(self, entry: Entry, key: str) -> str:
        answer = self._target.copy(key, {}, self._from(entry) | _WITHOUT_TAGS)
        return _etag(answer.body)

    def _copy_in_parts(self, entry: Entry, key: str) -> str:
        """Copies an object that is too large for one request, in the parts that it has."""
        sizes = self._sizes(entry)
        upload = upload_id(self._target.begin(key, {}).body)
        try:
            parts, first = list[tuple[str, str]](), 0
            for number, size in enumerate(sizes, 1):
                piece = {"x-amz-copy-source-range": f"bytes={first}-{first + size - 1}"}
                query = {"partNumber": str(number), "uploadId": upload}
                answer = self._target.copy(key, query, self._from(entry) | piece)
                parts.append((_etag(answer.body), ""))
                first += size
            body = put_together(parts)
            return _etag(self._target.write("POST", key, {"uploadId": upload}, body, {}).body)
        except BaseException:
            # The store would keep the parts unseen, and charge for them.
            with suppress(WorkError):
                self._target.get(key, {"uploadId": upload}, method="DELETE")
            raise

    def _sizes(self, entry: Entry) -> list[int]:
        count = entry.etag.rpartition("-")[2]
        if not has_md5(entry) and count.isdecimal():
            for split in self._splits.of(entry, int(count)):
                if max(split.sizes) <= self._most_bytes:
                    return list(split.sizes)
        return equal_parts(entry.size, min(_PIECE_BYTES, self._most_bytes))

    def _from(self, entry: Entry) -> dict[str, str]:
        place = quote(f"{self._origin.bucket}/{self._origin.prefix}{entry.key}", safe="/~")
        headers = {"x-amz-copy-source": f"/{place}"}
        return (
            headers | {"x-amz-copy-source-if-match": f'"{entry.etag}"'} if entry.etag else headers
        )

    def _has_same_checksum(self, entry: Entry, key: str) -> bool:
        """Whether the store keeps a checksum of both objects as a whole, and they are the same."""
        asked = {"x-amz-checksum-mode": "ENABLED"}
        guarded = asked | ({"If-Match": f'"{entry.etag}"'} if entry.etag else {})
        try:
            before = self._source.head(self._origin.prefix + entry.key, {}, guarded).headers
            after = self._target.head(key, {}, asked).headers
        except RefusedError:
            return False
        return any(
            _of_whole(before, name) and _of_whole(before, name) == _of_whole(after, name)
            for name in _CHECKSUMS
        )


def _of_whole(headers: Mapping[str, str], name: str) -> str:
    """A checksum of the whole object; empty for one of its parts' checksums."""
    found = headers.get(name, "")
    is_of_parts = "-" in found or headers.get("x-amz-checksum-type") == "COMPOSITE"
    return "" if is_of_parts else found


def _etag(body: bytes) -> str:
    # S3 answers 200 before it has copied, and reports an error in the body.
    etag = etag_of(body)
    if not etag:
        code = error_code(body)
        raise WorkError("store_down", f"The store did not copy an object: {code or 'no answer'}.")
    return etag


def _refused(refusal: RefusedError, key: str) -> Exception:
    if refusal.status == _PRECONDITION:
        return changed(key)
    if refusal.status == _NOT_FOUND and refusal.code == "NoSuchKey":
        return gone(key)
    if refusal.status == _NOT_IMPLEMENTED:
        return UnfitError("the store does not copy objects", always=True)
    return refusal
