"""Reads a few small objects from an object store, for the bot itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bot.config import Store
from bot.datasets.amazon import amazon_session
from bot.datasets.keys import read_keys
from bot.datasets.location import Location
from bot.errors import StorageError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_SECONDS, READ_SECONDS = 5, 20
_TRIES = 2
_MISSING = {"NoSuchKey", "NoSuchBucket", "404"}
_REFUSED = {
    "AccessDenied",
    "403",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
}


class ObjectStore:
    """A client of one object store, named as in the configuration; close it after use.

    Each instance reads the keys again, so that it uses rotated ones. Every request has a short
    time-out.
    """

    def __init__(self, name: str, store: Store) -> None:
        self._name = name
        self._store = store
        self._client: S3Client | None = None

    def get(self, place: Location, name: str) -> bytes:
        """The content of an object below a place; StorageError if it cannot be read."""
        key = f"{place.prefix}{name}"
        with self._failing(f"s3://{place.bucket}/{key}"):
            client = self._client = self._client or self._open()
            with client.get_object(Bucket=place.bucket, Key=key)["Body"] as body:
                return body.read()

    def look(self, place: Location) -> None:
        """Checks that a place can be listed; StorageError if it cannot."""
        with self._failing(place.url):
            client = self._client = self._client or self._open()
            client.list_objects_v2(Bucket=place.bucket, Prefix=place.prefix, MaxKeys=1)

    def close(self) -> None:
        """Closes its connections."""
        if self._client is not None:
            self._client.close()

    def _open(self) -> "S3Client":
        from botocore.config import Config  # noqa: PLC0415 - a third of a second, when needed

        store = self._store
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _TRIES},
            s3={"addressing_style": "path" if store.path_style else "auto"},
            # Stores that are not Amazon's do not know the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return amazon_session(**self._keys()).client(
            "s3",
            endpoint_url=store.endpoint,
            region_name=store.region,
            verify=store.ca_file,
            config=config,
        )

    def _keys(self) -> dict[str, Any]:
        """The bot's keys; empty if it uses its own identity."""
        setting = f"stores.{self._name}.credentials"
        return read_keys(self._store.credentials, f"store {self._name}", setting)

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turns exceptions of the library into a StorageError without secrets."""
        from botocore import exceptions  # noqa: PLC0415 - as above

        doing = f"Reading {what} from store {self._name}"
        try:
            yield
        except exceptions.ClientError as error:
            raise self._refusal(doing, error.response.get("Error", {})) from error
        except exceptions.NoCredentialsError as error:
            raise StorageError(
                f"{doing} failed: the bot has no keys for it and no identity of its own.",
                f"A platform admin must set stores.{self._name}.credentials.",
            ) from error
        except exceptions.BotoCoreError as error:
            raise StorageError(
                f"{doing} failed: the store cannot be reached ({type(error).__name__}).",
                f"Try again in a minute. stores.{self._name} sets the endpoint.",
            ) from error

    def _refusal(self, doing: str, error: Any) -> StorageError:
        code = str(error.get("Code", "unknown"))
        if code in _MISSING:
            said = f"{doing} failed: it does not exist ({code})."
            return StorageError(said, "It may have been deleted.")
        if code in _REFUSED:
            return StorageError(
                f"{doing} failed: the store rejected the bot's keys ({code}).",
                f"A platform admin must check stores.{self._name}.credentials.",
            )
        return StorageError(f"{doing} failed: the store returned {code}.", "Try again in a minute.")
