"""Reads and writes objects of Cloud Storage by obstore."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from obstore.store import GCSStore
from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.engine import CHUNK_BYTES, cut
from bot.datasets.worker.stores.gcs.api import AS_STORED, one_object
from bot.datasets.worker.stores.gcs.credentials import Credentials, key_of
from bot.datasets.worker.stores.gcs.settings import GcsSettings
from bot.datasets.worker.stores.http import Call, RefusedError, StoreHttp
from bot.datasets.worker.stores.obstore_engine import (
    RETRIES,
    client_options,
    gone,
    no_access,
    not_read,
)

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import GCSConfig, GCSCredential

_PARTIAL = 206


def gcs_store(
    where: GcsSettings, bucket: str, credentials: Credentials, *, to_write: bool = False
) -> GCSStore:
    """The client of a bucket; WorkError (no_access) without credentials."""

    def credential() -> "GCSCredential":
        if where.is_open:
            return {"token": "none", "expires_at": None}
        token, expires_at = credentials.token()
        return {"token": token, "expires_at": expires_at}

    # This fails before anything is copied if there are no credentials.
    credential()
    config: GCSConfig = {"base_url": where.base_url}
    return GCSStore(
        bucket,
        config=config,
        client_options={
            **client_options(where, to_write=to_write),
            "default_headers": dict(AS_STORED),
        },
        retry_config=RETRIES,
        credential_provider=credential,
    )


def signing_store(where: GcsSettings, bucket: str) -> GCSStore:
    """A client that signs URLs, for which it needs the key of a service account.

    obstore signs the name of Google's own host, so these URLs never lead to another endpoint.
    """
    return GCSStore(bucket, config={"service_account_key": key_of(where)})


def options_of(entry: Entry) -> "GetOptions":
    """The options that read the listed generation, and no later one."""
    return {} if entry.version_id is None else {"version": entry.version_id}


class JsonEngine:
    """Reads by own requests: keys that obstore refuses, and answers without Content-Length."""

    name = "json"

    def __init__(self, http: StoreHttp, bucket: str, prefix: str) -> None:
        self._http: Final = http
        self._bucket: Final = bucket
        self._prefix: Final = prefix

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object."""
        return b"".join(self.chunks(entry, 0, entry.size))

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[bytes]:
        """Some bytes of an object."""
        query = {"alt": "media"}
        if entry.version_id is not None:
            query["generation"] = entry.version_id
        headers = dict(AS_STORED)
        if size < entry.size:
            headers["Range"] = f"bytes={first}-{first + size - 1}"
        target = one_object(self._bucket, self._prefix + entry.key, query)
        try:
            answer = self._http.send_once(Call("GET", target, headers=headers))
        except RefusedError as refusal:
            raise _refused(refusal, entry.key) from refusal
        body = answer.body
        chunks = (body[place : place + CHUNK_BYTES] for place in range(0, len(body), CHUNK_BYTES))
        partial = answer.status == _PARTIAL or size == entry.size
        return chunks if partial else cut(chunks, first, size)


def _refused(refusal: RefusedError, key: str) -> Exception:
    if refusal.reason == "not_found":
        return gone(key)
    said = f"{refusal.status} {refusal.code}".strip()
    return no_access(key, said) if refusal.reason == "no_access" else not_read(key, said)
