"""Reads by boto3, which works with every S3 server but takes over twice the CPU of obstore."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import boto3
import urllib3.exceptions
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.engine import CHUNK_BYTES, cut
from bot.datasets.worker.stores.obstore_engine import changed, gone, no_access, not_read
from bot.datasets.worker.stores.s3.keys import keys
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.settings import Address

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectRequestTypeDef

_FORBIDDEN, _NOT_FOUND, _PRECONDITION, _PARTIAL = 403, 404, 412, 206
_FAILURES = (BotoCoreError, urllib3.exceptions.HTTPError, OSError)


class Boto3Engine:
    """Reads objects below a prefix by boto3's client."""

    name = "boto3"

    def __init__(self, where: S3Settings, source: Address, connections: int) -> None:
        self._source: Final = source
        self._client: Final = _client(where, connections)

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object."""
        return b"".join(self.chunks(entry, 0, entry.size))

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[bytes]:
        """Some bytes of an object."""
        asked: GetObjectRequestTypeDef = {
            "Bucket": self._source.bucket,
            "Key": self._source.prefix + entry.key,
        }
        if entry.etag:
            asked["IfMatch"] = f'"{entry.etag}"'
        if entry.version_id is not None:
            asked["VersionId"] = entry.version_id
        if size < entry.size:
            asked["Range"] = f"bytes={first}-{first + size - 1}"
        try:
            answer = self._client.get_object(**asked)
        except ClientError as error:
            raise _refusal(error, entry.key) from error
        except _FAILURES as error:
            raise not_read(entry.key, str(error)) from error
        partial = answer["ResponseMetadata"]["HTTPStatusCode"] == _PARTIAL
        chunks = _streamed(answer["Body"].iter_chunks(CHUNK_BYTES), entry.key)
        # Some servers ignore the range and send the whole object.
        return chunks if partial or size == entry.size else cut(chunks, first, size)


def _client(where: S3Settings, connections: int) -> "S3Client":
    found = keys(where)
    return boto3.client(
        "s3",
        endpoint_url=where.endpoint,
        region_name=where.region,
        aws_access_key_id=found.access_key,
        aws_secret_access_key=found.secret_key,
        aws_session_token=found.token,
        verify=where.ca_file,
        config=Config(
            connect_timeout=5,
            read_timeout=20,
            retries={"max_attempts": 2, "mode": "standard"},
            max_pool_connections=connections,
            s3={"addressing_style": "path" if where.path_style else "virtual"},
            # It would fail if a store's checksum covers the parts, not the object.
            response_checksum_validation="when_required",
        ),
    )


def _streamed(chunks: Iterator[bytes], key: str) -> Iterator[bytes]:
    try:
        yield from chunks
    except _FAILURES as error:
        raise not_read(key, str(error)) from error


def _refusal(error: ClientError, key: str) -> Exception:
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if status == _PRECONDITION:
        return changed(key)
    if status == _NOT_FOUND:
        return gone(key)
    if status == _FORBIDDEN:
        return no_access(key, error.response["Error"]["Code"])
    return not_read(key, f"{status} {error.response['Error']['Code']}")
