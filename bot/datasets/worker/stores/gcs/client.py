"""A bucket of Google Cloud Storage: the JSON API for metadata, obstore for the bulk."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import obstore
from obstore.exceptions import BaseError

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import ALGORITHMS, new_md5, of_file
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.stores.comparing import Kind, has_md5
from bot.datasets.worker.stores.engine import Engine, Fallback
from bot.datasets.worker.stores.gcs.api import (
    AS_STORED,
    CRC32C,
    OF_OBJECT,
    Dialect,
    entry_of,
    objects,
    one_object,
    parsed,
    uploads,
)
from bot.datasets.worker.stores.gcs.copying import (
    JsonEngine,
    gcs_store,
    options_of,
    signing_store,
)
from bot.datasets.worker.stores.gcs.credentials import Credentials
from bot.datasets.worker.stores.gcs.settings import GcsSettings
from bot.datasets.worker.stores.gcs.uploading import GcsUploader
from bot.datasets.worker.stores.http import Call, RefusedError, StoreHttp
from bot.datasets.worker.stores.obstore_engine import ObstoreEngine
from bot.datasets.worker.stores.presigned import PresignedUploads
from bot.datasets.worker.stores.settings import Address, authority

_LISTED = f"nextPageToken,items({OF_OBJECT})"


class GcsClient:
    """A bucket of Google Cloud Storage."""

    def __init__(self, where: GcsSettings, bucket: str, patience_seconds: float) -> None:
        self._where: Final = where
        self._bucket: Final = bucket
        self._credentials: Final = Credentials(where)
        self._http: Final = StoreHttp(
            where.base_url, Dialect(self._credentials), authority(where), patience_seconds
        )

    def keeps_versions(self) -> bool | None:
        """Whether the bucket keeps versions; None if the service account may not read that."""
        target = objects(self._bucket, {}).removesuffix("/o?")
        try:
            found = parsed(self._http.send(Call("GET", f"{target}?fields=versioning")).body)
        except RefusedError as refusal:
            if refusal.reason == "no_access":
                return None
            raise
        return bool(found.get("versioning", {}).get("enabled"))

    def listed(self, prefix: str, *, versioned: bool, page_objects: int = 1000) -> Iterator[Entry]:
        """Every object below a prefix; generations are there whether versions are kept or not."""
        del versioned
        query = {"prefix": prefix, "maxResults": str(page_objects), "fields": _LISTED}
        while True:
            page = parsed(self._http.send(Call("GET", objects(self._bucket, query))).body)
            yield from (entry_of(found, len(prefix)) for found in page.get("items", ()))
            following = page.get("nextPageToken")
            if not following:
                return
            if following == query.get("pageToken"):
                words = "The store returned the same page of its listing twice."
                raise WorkError("wrong_input", words)
            query["pageToken"] = following

    def probe(self, prefix: str) -> None:
        """Lists at most one object."""
        query = {"prefix": prefix, "maxResults": "1", "fields": "items(name)"}
        self._http.send(Call("GET", objects(self._bucket, query)))

    def head(self, key: str) -> Entry | None:
        """The metadata of an object."""
        target = one_object(self._bucket, key, {"fields": OF_OBJECT})
        try:
            return entry_of(parsed(self._http.send(Call("GET", target)).body))
        except RefusedError as refusal:
            if refusal.reason == "not_found":
                return None
            raise

    def read(self, key: str) -> bytes:
        """The content of a small object."""
        target = one_object(self._bucket, key, {"alt": "media"})
        return self._http.send(Call("GET", target, headers=AS_STORED)).body

    def write(self, key: str, content: bytes) -> None:
        """Writes a small object."""
        target = uploads(self._bucket, {"uploadType": "media", "name": key, "fields": "name"})
        headers = {"Content-Type": "application/octet-stream"}
        self._http.send(Call("POST", target, content, headers))

    def remove(self, key: str) -> None:
        """Deletes an object."""
        self._http.send(Call("DELETE", one_object(self._bucket, key, {})))

    def sign(self, key: str, lifetime: timedelta) -> str:
        """A URL that reads an object, by Signature Version 4; a service account's key signs it."""
        try:
            return obstore.sign(signing_store(self._where, self._bucket), "GET", key, lifetime)
        except (BaseError, ValueError) as error:
            hint = "key.json of the store must be the key of a service account."
            raise WorkError("no_access", f"{key} cannot be signed: {error}", hint) from error

    def engine(self, name: str, prefix: str, connections: int) -> Engine:
        """Reads by obstore, and by the JSON API what obstore cannot read."""
        del connections
        if name == "boto3":
            raise wrong_input("boto3 does not read from Cloud Storage.", "Use --engine auto.")
        store = gcs_store(self._where, self._bucket, self._credentials)
        fast = ObstoreEngine(store, prefix, options_of)
        if name == "obstore":
            return fast
        return Fallback(fast, lambda: JsonEngine(self._http, self._bucket, prefix))

    def uploader(self, prefix: str) -> GcsUploader:
        """Writes below a prefix."""
        store = gcs_store(self._where, self._bucket, self._credentials, to_write=True)
        return GcsUploader(store, self._http, Address(self._bucket, prefix, "gs"), self.head)

    def server_copies(self, source: Address, prefix: str) -> None:
        """Not offered: objects are read and written."""
        del source, prefix

    def comparison(self, prefix: str, *, are_ours: bool) -> "GcsComparison":
        """Compares files with objects, by the checksums of the listing."""
        del prefix, are_ours
        return GcsComparison()

    def presigned(self, prefix: str) -> PresignedUploads:
        """Not offered: WorkError."""
        raise wrong_input(
            f"Files from a computer cannot be pushed to gs://{self._bucket}/{prefix}.",
            "This needs a store of type s3. Push a folder of a PVC instead.",
        )

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()


class GcsComparison:
    """Compares files by the MD5 or CRC32C that the store computed of the whole object."""

    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """The method by which a file is verified as the object; None if it differs."""
        if has_md5(entry):
            same = (found or of_file(descriptor, new_md5).hex()) == entry.etag
            return "md5" if same else None
        crc32c = of_file(descriptor, ALGORITHMS["x-amz-checksum-crc32c"])
        same = f"{CRC32C}{base64.b64encode(crc32c).decode()}" == entry.etag
        return "checksum" if same else None
