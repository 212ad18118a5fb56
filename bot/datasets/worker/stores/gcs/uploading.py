"""Uploads files to Cloud Storage: small ones by obstore, large ones by resumable uploads."""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import GCSStore

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import new_md5, of_file
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES, read_parts
from bot.datasets.worker.stores.comparing import has_md5
from bot.datasets.worker.stores.gcs.api import OF_OBJECT, entry_of, parsed, uploads
from bot.datasets.worker.stores.http import Answer, Call, RefusedError, StoreHttp
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.stores.uploads import (
    COPIES,
    IN_FLIGHT_BYTES,
    AppearedError,
    ByteBudget,
    not_stored,
    translated,
    write_denied,
)

_PRECONDITION, _INCOMPLETE, _GONE, _NOT_FOUND = 412, 308, 410, 404
_ABSENT = {"ifGenerationMatch": "0"}


class GcsUploader:
    """Writes files as objects below a prefix; thread-safe."""

    def __init__(
        self,
        store: GCSStore,
        http: StoreHttp,
        target: Address,
        head: Callable[[str], Entry | None],
    ) -> None:
        self._store: Final = store
        self._http: Final = http
        self._bucket: Final = target.bucket
        self._prefix: Final = target.prefix
        self._head: Final = head
        self._room: Final = ByteBudget(IN_FLIGHT_BYTES)

    def upload(
        self, key: str, descriptor: int, size: int, *, only_new: bool = False
    ) -> tuple[str, str]:
        """Uploads a file; returns its MD5, and the checksum that the store computed."""
        large = size > PART_BYTES
        with self._room.taken(COPIES * (PART_BYTES if large else size)):
            send = self._in_parts if large else self._at_once
            return send(key, descriptor, size, only_new=only_new)

    def etag(self, descriptor: int, size: int) -> str:
        """The MD5 of a file, which the store reports of an object that was uploaded."""
        del size
        return of_file(descriptor, new_md5).hex()

    def _at_once(self, key: str, descriptor: int, size: int, *, only_new: bool) -> tuple[str, str]:
        content = b"".join(read_parts(descriptor, size, PART_BYTES))
        try:
            answer = obstore.put(
                self._store,
                self._prefix + key,
                content,
                mode="create" if only_new else "overwrite",
                use_multipart=False,
            )
        except (AlreadyExistsError, PreconditionError) as error:
            raise AppearedError from error
        except (BaseError, OSError, ValueError) as error:
            raise translated(error, key) from error
        given = Entry(key, size, (answer["e_tag"] or "").strip('"'))
        # With a key of your own (CMEK) the ETag is not the MD5.
        found = given if has_md5(given) else self._head(self._prefix + key)
        return new_md5(content).hexdigest(), found.etag if found else ""

    def _in_parts(self, key: str, descriptor: int, size: int, *, only_new: bool) -> tuple[str, str]:
        """An upload whose parts are sent one after the other; it ends as one object or none."""
        digest, place, answer = new_md5(), 0, None
        try:
            session = self._begun(key, only_new=only_new)
            for part in read_parts(descriptor, size, PART_BYTES):
                digest.update(part)
                last = place + len(part) - 1
                headers = {"Content-Range": f"bytes {place}-{last}/{size}"}
                answer = self._http.send(Call("PUT", session, part, headers, {_INCOMPLETE}))
                place = last + 1
                if place < size:
                    _check_arrived(answer, place, key)
        except RefusedError as refusal:
            raise _refused(refusal, key) from refusal
        if answer is None or answer.status == _INCOMPLETE:
            raise not_stored(key, "the file became shorter while it was uploaded")
        return digest.hexdigest(), entry_of(parsed(answer.body)).etag

    def _begun(self, key: str, *, only_new: bool) -> str:
        """The target of a new resumable upload."""
        query = {"uploadType": "resumable", "name": self._prefix + key, "fields": OF_OBJECT}
        target = uploads(self._bucket, query | (_ABSENT if only_new else {}))
        answer = self._http.send_once(Call("POST", target, b"{}", _JSON))
        session = urlsplit(answer.headers.get("location", ""))
        if not session.query:
            raise not_stored(key, "the store did not say where to upload it")
        return f"{session.path}?{session.query}"


_JSON = {"Content-Type": "application/json"}


def _check_arrived(answer: Answer, sent: int, key: str) -> None:
    """WorkError, so that the upload starts again, if the store has kept less than was sent."""
    arrived = answer.headers.get("range", "").rpartition("-")[2]
    if answer.status != _INCOMPLETE or arrived != str(sent - 1):
        raise not_stored(key, "a part did not arrive whole")


def _refused(refusal: RefusedError, key: str) -> Exception:
    if refusal.status == _PRECONDITION:
        return AppearedError()
    if refusal.reason == "no_access":
        return write_denied(key, f"{refusal.status} {refusal.code}".strip())
    if refusal.status == _NOT_FOUND and refusal.code == "notFound":
        return WorkError("not_found", "The bucket does not exist.", "Check its spelling.")
    if refusal.status in (_NOT_FOUND, _GONE):
        # The upload was lost, or completed and its answer was lost.
        return not_stored(key, f"{refusal.status} {refusal.code}".strip())
    return refusal
