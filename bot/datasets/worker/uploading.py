"""Uploads files as objects: large ones in parts, after removing parts of earlier attempts."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Final

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.multipart import NewObject
from bot.datasets.worker.obstore_engine import s3_store
from bot.datasets.worker.parts import Parts, part_bytes
from bot.datasets.worker.requests import RefusedError, Requests
from bot.datasets.worker.store import Address, Store
from bot.datasets.worker.xml import unfinished_uploads

_IN_FLIGHT_BYTES = 96 << 20
# obstore copies what it sends, and reads one part ahead.
_PARTS_SENT, _PARTS_HELD, _COPIES = 2, 4, 2
_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES = -3, 1 << 20
_WORDS_SHOWN = 200
_PRECONDITION, _CONFLICT, _NOT_IMPLEMENTED = 412, 409, 501


class AppearedError(Exception):
    """An object has appeared where there was none."""


class _UnguardedError(Exception):
    """The store does not support conditional writes."""


class ByteBudget:
    """Limits the bytes held at a time; who needs more than the limit waits to be alone."""

    def __init__(self, most_bytes: int) -> None:
        self._most: Final = most_bytes
        self._held = 0
        self._changed: Final = threading.Condition()

    @contextlib.contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Holds `size` bytes while the block runs."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + size <= self._most)
            self._held += size
        try:
            yield
        finally:
            with self._changed:
                self._held -= size
                self._changed.notify_all()


def give_back_large_blocks() -> None:
    """Makes the C library return freed blocks of 1 MiB and more to the system.

    By default glibc stops doing so after the first ones, and keeps a few parts for each thread.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


class Uploader:
    """Writes and looks up objects below a prefix; thread-safe."""

    def __init__(self, where: Store, target: Address, requests: Requests) -> None:
        self._prefix: Final = target.prefix
        self._requests: Final = requests
        self._store: Final = s3_store(where, target.bucket, to_write=True)
        self._room: Final = ByteBudget(_IN_FLIGHT_BYTES)
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
        with self._room.taken(step * _PARTS_HELD if large else size * _COPIES):
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
                    max_concurrency=_PARTS_SENT,
                )
            except (BaseError, OSError, ValueError) as error:
                raise _translated(error, key) from error
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
            raise _translated(error, key) from error
        return (answer["e_tag"] or "").strip('"')

    def stored(self, key: str) -> Entry | None:
        """The object under a key; None without one."""
        try:
            headers = self._requests.head(self._prefix + key, {}, {}).headers
        except RefusedError as refusal:
            if refusal.reason == "not_found":
                return None
            raise
        return Entry(key, int(headers.get("content-length", -1)), headers["etag"].strip('"'))

    def remove(self, key: str) -> None:
        """Deletes an object."""
        self._requests.get(self._prefix + key, method="DELETE")

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
        return _no_access(key, refusal.code)
    if refusal.status == _CONFLICT or refusal.code == "NoSuchUpload":
        # Another client is writing there, or the upload was completed and the answer was lost.
        return _not_stored(key, refusal.code)
    return refusal


def _no_access(key: str, words: str) -> WorkError:
    return WorkError(
        "no_access",
        f"The store denied writing {key}: {words}",
        "Allow the keys in the store's Secret to write below the target.",
        (key,),
    )


def _not_stored(key: str, words: str) -> WorkError:
    return WorkError(
        "store_down",
        f"{key} could not be stored: {words}",
        "Nothing is lost: pushed objects are kept, and the next attempt pushes the rest.",
        (key,),
    )


def _translated(error: Exception, key: str) -> WorkError:
    words = str(error).partition("\n")[0][:_WORDS_SHOWN]
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return _no_access(key, words)
    if isinstance(error, FileNotFoundError) and "NoSuchBucket" in str(error):
        return WorkError("not_found", f"The bucket does not exist: {words}", "Check its spelling.")
    if "InvalidCertificate" in str(error):
        return wrong_input(
            f"The object store's certificate is not trusted: {words}",
            "Set ca_file in the store's settings to the CA that signed it.",
        )
    return _not_stored(key, words)
