"""The types of object stores. A new type is a package beside this file, and an entry here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bot.datasets.worker.failures import wrong_input
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.gcs.settings import EXAMPLE as GCS_EXAMPLE
from bot.datasets.worker.stores.gcs.settings import GcsSettings
from bot.datasets.worker.stores.s3.settings import EXAMPLE as S3_EXAMPLE
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.settings import Address

Settings = GcsSettings | S3Settings


@dataclass(frozen=True)
class StoreType:
    """A type of store: the scheme of its addresses, its settings, and how to connect to it.

    `files` are the files of a store's Secret, in words.
    """

    scheme: str
    settings: type[Settings]
    example: str
    files: str
    connect: Callable[[Any, str, float], StoreClient]


def _s3(where: S3Settings, bucket: str, patience_seconds: float) -> StoreClient:
    # botocore takes half a second, which stores of other types do not need.
    from bot.datasets.worker.stores.s3.client import S3Client  # noqa: PLC0415

    return S3Client(where, bucket, patience_seconds)


def _gcs(where: GcsSettings, bucket: str, patience_seconds: float) -> StoreClient:
    from bot.datasets.worker.stores.gcs.client import GcsClient  # noqa: PLC0415 - as above

    return GcsClient(where, bucket, patience_seconds)


DEFAULT: Final = "s3"
TYPES: Mapping[str, StoreType] = {
    DEFAULT: StoreType(
        "s3", S3Settings, S3_EXAMPLE, "the files access-key-id and secret-access-key", _s3
    ),
    "gcs": StoreType("gs", GcsSettings, GCS_EXAMPLE, "the file key.json", _gcs),
}
_OF_SETTINGS = {each.settings: each for each in TYPES.values()}


class _Typed(msgspec.Struct):
    type: str = DEFAULT


def read_settings(text: str, option: str) -> Settings:
    """The store that the JSON describes; WorkError names the option and shows an example."""
    example = TYPES[DEFAULT].example
    try:
        found = TYPES.get(msgspec.json.decode(text, type=_Typed).type)
        if found is None:
            raise wrong_input(f"{option} has an unknown type.", f"Use one of {', '.join(TYPES)}.")
        example = found.example
        where = msgspec.json.decode(text, type=found.settings)
    except msgspec.DecodeError as error:
        raise wrong_input(f"{option} cannot be read: {error}.", f"For example: {example}") from None
    if where.endpoint and not where.endpoint.startswith(("http://", "https://")):
        raise wrong_input(
            f"{option} has an endpoint without http:// or https://: {where.endpoint}",
            f"For example: {example}",
        )
    return where


def read_address(text: str, where: Settings, option: str) -> Address:
    """The bucket and prefix of an address like s3://bucket/prefix/, in a store of that type."""
    wanted = _OF_SETTINGS[type(where)].scheme
    scheme, _, rest = text.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != wanted or not bucket:
        raise wrong_input(
            f"{option} is not an address in an object store: {text}",
            f"For example: {wanted}://lake/chest-xray/",
        )
    return Address(bucket, prefix if not prefix or prefix.endswith("/") else f"{prefix}/", scheme)


def connected(where: Settings, bucket: str, patience_seconds: float) -> StoreClient:
    """A client of a bucket; it retries what may succeed later for `patience_seconds`."""
    return _OF_SETTINGS[type(where)].connect(where, bucket, patience_seconds)
