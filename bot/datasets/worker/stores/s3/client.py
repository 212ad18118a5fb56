"""A bucket of an S3-compatible store: own requests for metadata, obstore for the bulk."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import obstore
from obstore.exceptions import BaseError

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.engine import Engine, Fallback
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.obstore_engine import ObstoreEngine, not_read
from bot.datasets.worker.stores.s3.comparing import S3Comparison
from bot.datasets.worker.stores.s3.copying import options_of, s3_store
from bot.datasets.worker.stores.s3.listing import is_versioned, listed
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.server_copies import S3ServerCopies
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.s3.signing import S3Presigned
from bot.datasets.worker.stores.s3.uploading import S3Uploader
from bot.datasets.worker.stores.settings import Address


class S3Client:
    """A bucket of an S3-compatible store."""

    def __init__(self, where: S3Settings, bucket: str, patience_seconds: float) -> None:
        self._where: Final = where
        self._bucket: Final = bucket
        self._patience: Final = patience_seconds
        self._requests: Final = Requests(where, bucket, patience_seconds)

    def keeps_versions(self) -> bool | None:
        """Whether the bucket keeps versions."""
        return is_versioned(self._requests)

    def listed(self, prefix: str, *, versioned: bool, page_objects: int = 1000) -> Iterator[Entry]:
        """Every object below a prefix."""
        source = Address(self._bucket, prefix)
        return listed(self._requests, source, versioned=versioned, page_objects=page_objects)

    def probe(self, prefix: str) -> None:
        """Lists at most one object."""
        self._requests.get(query={"list-type": "2", "max-keys": "1", "prefix": prefix})

    def head(self, key: str) -> Entry | None:
        """The metadata of an object."""
        try:
            headers = self._requests.head(key, {}, {}).headers
        except RefusedError as refusal:
            if refusal.reason == "not_found":
                return None
            raise
        etag = headers.get("etag", "").strip('"')
        return Entry(key, int(headers.get("content-length", -1)), etag)

    def read(self, key: str) -> bytes:
        """The content of a small object."""
        return self._requests.get(key).body

    def write(self, key: str, content: bytes) -> None:
        """Writes a small object."""
        self._requests.put(key, content)

    def remove(self, key: str) -> None:
        """Deletes an object."""
        self._requests.get(key, method="DELETE")

    def sign(self, key: str, lifetime: timedelta) -> str:
        """A URL that reads an object, by Signature Version 4."""
        try:
            return obstore.sign(s3_store(self._where, self._bucket), "GET", key, lifetime)
        except (BaseError, ValueError) as error:
            raise not_read(key, str(error)) from error

    def engine(self, name: str, prefix: str, connections: int) -> Engine:
        """Reads by obstore, boto3, or (auto) by boto3 what obstore cannot read."""

        def plain() -> Engine:
            # Most never need it, and loading it takes half a second.
            from bot.datasets.worker.stores.s3.boto3_engine import Boto3Engine  # noqa: PLC0415

            return Boto3Engine(self._where, Address(self._bucket, prefix), connections)

        if name == "boto3":
            return plain()
        fast = ObstoreEngine(s3_store(self._where, self._bucket), prefix, options_of)
        return fast if name == "obstore" else Fallback(fast, plain)

    def uploader(self, prefix: str) -> S3Uploader:
        """Writes below a prefix."""
        return S3Uploader(self._where, Address(self._bucket, prefix), self._requests)

    def server_copies(self, source: Address, prefix: str) -> S3ServerCopies:
        """Copies from another bucket of the store."""
        origin = Requests(self._where, source.bucket, self._patience)
        return S3ServerCopies(origin, source, self._requests, prefix)

    def comparison(self, prefix: str, *, are_ours: bool) -> S3Comparison:
        """Compares files with objects below a prefix."""
        return S3Comparison(self._requests, prefix, are_ours=are_ours)

    def presigned(self, prefix: str) -> S3Presigned:
        """Signs uploads below a prefix."""
        return S3Presigned(self._where, Address(self._bucket, prefix), self._requests)

    def close(self) -> None:
        """Closes the connections."""
        self._requests.close()
