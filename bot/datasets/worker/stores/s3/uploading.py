"""Uploads files as objects: large ones in parts, after removing parts of earlier attempts."""

import contextlib
from typing import Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from bot.datasets.worker.parts import Parts, etag, part_bytes
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.s3.copying import s3_store
from bot.datasets.worker.stores.s3.multipart import NewObject
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.s3.xml import unfinished_uploads
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.stores.uploads import (
    COPIES,
    IN_FLIGHT_BYTES,
    PARTS_HELD,
    PARTS_SENT,
    AppearedError,
    ByteBudget,
    not_stored,
    translated,
    write_denied,
)

_PRECONDITION, _CONFLICT, _NOT_IMPLEMENTED = 412, 409, 501


class _UnguardedError(Exception):
    """The store does not support conditional writes."""


class S3Uploader:
    """Writes files as objects below a prefix; thread-safe."""

    def __init__(self, where: S3Settings, target: Address, requests: Requests) -> None:
        self._prefix: Final = target.prefix
        self._requests: Final = requests
        self._store: Final = s3_store(where, target.bucket, to_write=True)
        self._room: Final = ByteBudget(IN_FLIGHT_BYTES)
        self._is_guarded = True

    def upload(
        self, key: str, descriptor: int, size: int, *, only_new: bool = False
    ) -> tuple[str, str]:
        """Uploads a file; returns the ETag computed from its bytes, and the store's ETag.

        AppearedError if `only_new` and there is an object, as far as the store supports that.
        """
        parts, step = Parts(descriptor, size), part_bytes(size)
        large = size > step
        if large:
            self._abort_left_over(key)
        with self._room.taken(step * PARTS_HELD if large else size * COPIES):
            if only_new and self._is_guarded:
                with contextlib.suppress(_UnguardedError):
                    given = self._put_new(key, parts, large=large)
                    return parts.etag, given
                self._is_guarded = False
            try:
                answer = obstore.put(
                    self._store,
                    self._prefix + key,
                    iter(parts) if large else next(iter(parts)),
                    use_multipart=large,
                    chunk_size=step,
                    max_concurrency=PARTS_SENT,
                )
            except (BaseError, OSError, ValueError) as error:
                raise translated(error, key) from error
        return parts.etag, (answer["e_tag"] or "").strip('"')

    def _put_new(self, key: str, parts: Parts, *, large: bool) -> str:
        """Uploads an object that does not exist yet (If-None-Match), and returns its ETag."""
        try:
            if large:
                return NewObject(self._requests, self._prefix + key).write(parts)
            content = next(iter(parts))
            answer = obstore.put(
                self._store, self._prefix + key, content, mode="create", use_multipart=False
            )
        except RefusedError as refusal:
            raise _refused(refusal, key) from refusal
        except AlreadyExistsError as error:
            raise AppearedError from error
        except (BaseError, OSError, ValueError) as error:
            if "501 Not Implemented" in str(error):
                raise _UnguardedError from error
            raise translated(error, key) from error
        return (answer["e_tag"] or "").strip('"')

    def etag(self, descriptor: int, size: int) -> str:
        """The ETag that a file has once it is pushed."""
        return etag(descriptor, size)

    def _abort_left_over(self, key: str) -> None:
        """Deletes parts of an earlier attempt, which the store would keep unseen and charge for."""
        wanted = self._prefix + key
        question = {"uploads": "", "prefix": wanted, "encoding-type": "url"}
        # The keys may lack the right to list uploads, and not every store can.
        with contextlib.suppress(RefusedError):
            for found, upload in unfinished_uploads(self._requests.get(query=question).body):
                if found == wanted:
                    self._requests.get(wanted, {"uploadId": upload}, method="DELETE")


def _refused(refusal: RefusedError, key: str) -> Exception:
    """The error for a large object that the store rejected."""
    if refusal.status == _PRECONDITION or refusal.code == "PreconditionFailed":
        return AppearedError()
    if refusal.status == _NOT_IMPLEMENTED:
        return _UnguardedError()
    if refusal.reason == "no_access":
        return write_denied(key, refusal.code)
    if refusal.status == _CONFLICT or refusal.code == "NoSuchUpload":
        # Another client is writing there, or the upload was completed and the answer was lost.
        return not_stored(key, refusal.code)
    return refusal
