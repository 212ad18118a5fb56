"""Signs uploads to an S3-compatible store in advance, by Signature Version 4 in the query."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Literal

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from msgspec.structs import replace

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.comparing import Kind
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.presigned import ListedFile, SignedPiece
from bot.datasets.worker.stores.s3.keys import Keys, keys
from bot.datasets.worker.stores.s3.requests import Query, Requests, target_of
from bot.datasets.worker.stores.s3.settings import S3Settings, base_url
from bot.datasets.worker.stores.s3.xml import (
    StoredPart,
    error_code,
    parts_page,
    put_together,
    unfinished_uploads,
    upload_id,
)
from bot.datasets.worker.stores.settings import Address

_CHECKSUM = "x-amz-checksum-sha256"
_NOT_IMPLEMENTED = 501
# Errors of assembling parts after which the upload is still there, or is gone already.
_KEPT = ("InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout", "NoSuchUpload")
_ABSENT = {"If-None-Match": "*"}


class S3Presigned:
    """Signs uploads to a prefix of a bucket; people reach the store at its public endpoint."""

    def __init__(self, where: S3Settings, target: Address, requests: Requests) -> None:
        self._where: Final = where
        self._prefix: Final = target.prefix
        self._requests: Final = requests
        outside = replace(where, endpoint=where.public_endpoint or where.endpoint)
        self._base: Final = base_url(outside, target.bucket)
        self._keys: Keys = keys(where)

    def link(self, method: Literal["GET", "PUT"], key: str, lifetime: timedelta) -> str:
        """A URL for one object."""
        return self._signed(method, key, {}, {}, lifetime)

    def compared(self, file: ListedFile, stored: Entry) -> Kind | None:
        """By the ETag, else by the SHA-256 that the store keeps."""
        if stored.size != file.size:
            return None
        if stored.etag == file.etag:
            return "md5"
        asked = {"x-amz-checksum-mode": "ENABLED"}
        told = self._requests.head(self._prefix + file.key, {}, asked).headers
        return "checksum" if told.get(_CHECKSUM) == file.checksum else None

    def pieces(
        self, file: ListedFile, lifetime: timedelta, *, only_new: bool
    ) -> tuple[SignedPiece, ...]:
        """One request for a small file; for a large one, those of the parts that are missing."""
        guard = _ABSENT if only_new else {}
        if len(file.pieces) == 1:
            headers = _checked(file, 0) | guard
            return (SignedPiece(0, self._signed("PUT", file.key, {}, headers, lifetime), headers),)
        upload = self._unfinished(file.key) or self._begun(file.key)
        there = {number for number, part in self._parts(file.key, upload).items()
                 if _is_piece(file, number, part)}  # fmt: skip
        left = [number for number in range(len(file.pieces)) if number not in there]
        if not left:
            self._complete(file, upload, guard)
        return tuple(self._part(file, upload, number, lifetime) for number in left)

    def _part(self, file: ListedFile, upload: str, number: int, lifetime: timedelta) -> SignedPiece:
        query, headers = _numbered(upload, number), _checked(file, number)
        url = self._signed("PUT", file.key, query, headers, lifetime)
        return SignedPiece(number, url, headers)

    def _unfinished(self, key: str) -> str:
        """The newest upload of that key which was begun and not ended; empty without one."""
        wanted = self._prefix + key
        question = {"uploads": "", "prefix": wanted, "encoding-type": "url"}
        found = unfinished_uploads(self._requests.get(query=question).body)
        return next((upload for name, upload in found if name == wanted), "")

    def _begun(self, key: str) -> str:
        """A new upload. If the answer is lost, the next call finds it among the unfinished."""
        asked = {"x-amz-checksum-algorithm": "SHA256"}
        return upload_id(self._requests.begin(self._prefix + key, asked).body)

    def _parts(self, key: str, upload: str) -> dict[int, StoredPart]:
        """The parts that have arrived, by their number from 0."""
        found: dict[int, StoredPart] = {}
        marker = "0"
        while marker:
            query = {"uploadId": upload, "part-number-marker": marker}
            page, marker = parts_page(self._requests.get(self._prefix + key, query).body)
            found |= {each.number - 1: each for each in page}
        return found

    def _complete(self, file: ListedFile, upload: str, guard: Mapping[str, str]) -> None:
        """Makes an object of the parts; an upload that the store cannot complete is ended."""
        key, there = self._prefix + file.key, self._parts(file.key, upload)
        body = put_together((there[number].etag, piece.checksum)
                            for number, piece in enumerate(file.pieces))  # fmt: skip
        try:
            answer = self._requests.write("POST", key, {"uploadId": upload}, body, guard)
        except RefusedError as refusal:
            if refusal.reason in {"store_down", "no_access"} or refusal.status == _NOT_IMPLEMENTED:
                raise
            code = refusal.code or str(refusal.status)
        else:
            # S3 answers 200 before it has assembled the parts, and reports an error in the body.
            code = error_code(answer.body)
        if code and code not in _KEPT:
            # The next look shows what is there: another object, or nothing and a new upload.
            self._requests.write("DELETE", key, {"uploadId": upload}, b"", {})

    def _signed(
        self, method: str, key: str, query: Query, headers: Mapping[str, str], lifetime: timedelta
    ) -> str:
        if not self._keys.are_fresh:
            self._keys = keys(self._where)
        url = f"{self._base}{target_of(self._prefix + key, query)}"
        request = AWSRequest(method=method, url=url, headers=dict(headers))
        known = Credentials(self._keys.access_key, self._keys.secret_key, self._keys.token)
        seconds = round(lifetime.total_seconds())
        S3SigV4QueryAuth(known, "s3", self._where.region, expires=seconds).add_auth(request)
        return str(request.url)


def _numbered(upload: str, number: int) -> Query:
    return {"partNumber": str(number + 1), "uploadId": upload}


def _checked(file: ListedFile, number: int) -> dict[str, str]:
    """The headers by which the store refuses any other content; not every store knows both."""
    piece = file.pieces[number]
    return {"Content-MD5": piece.content_md5, _CHECKSUM: piece.checksum}


def _is_piece(file: ListedFile, number: int, part: StoredPart) -> bool:
    """Whether a stored part is that piece of the file."""
    if number >= len(file.pieces) or part.size != file.sizes[number]:
        return False
    piece = file.pieces[number]
    return part.etag.strip('"') == piece.md5 or part.checksum == piece.checksum
