"""Cloud Storage's JSON API: what is asked for, and what its answers mean."""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.gcs.credentials import Credentials
from bot.datasets.worker.stores.http import Call

CRC32C: Final = "crc32c="
# Otherwise objects with Content-Encoding: gzip arrive decompressed, and match no checksum.
AS_STORED: Final[Mapping[str, str]] = {"Accept-Encoding": "gzip"}
OF_OBJECT: Final = "name,size,generation,md5Hash,crc32c"


class Dialect:
    """Authenticates requests by access tokens, and words Cloud Storage's errors."""

    access_hints: Mapping[str, str] = {}
    access_hint = "Allow this service account to list the bucket and read objects."
    settings_hint = "Check endpoint in the store's settings."
    not_arrived: Collection[str] = ("uploadBrokenConnection",)

    def __init__(self, credentials: Credentials) -> None:
        self._credentials: Final = credentials

    def signed(self, url: str, call: Call) -> Mapping[str, str]:
        """All headers to send."""
        del url
        return {**call.headers, **self._credentials.headers()}

    def code(self, body: bytes) -> str:
        """The reason in an answer, such as `forbidden`; empty without one."""
        try:
            error = json.loads(body)["error"]
            return str(error["errors"][0]["reason"])
        except (ValueError, LookupError, TypeError):
            return ""


def objects(bucket: str, query: Mapping[str, str]) -> str:
    """The target of a request to the objects of a bucket."""
    return f"/storage/v1/b/{quote(bucket, safe='')}/o?{_asked(query)}"


def one_object(bucket: str, key: str, query: Mapping[str, str]) -> str:
    """The target of a request to one object."""
    asked = f"?{_asked(query)}" if query else ""
    return f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(key, safe='')}{asked}"


def uploads(bucket: str, query: Mapping[str, str]) -> str:
    """The target of a request that uploads an object."""
    return f"/upload{objects(bucket, query)}"


def _asked(query: Mapping[str, str]) -> str:
    return urlencode(query, quote_via=quote)


def parsed(body: bytes) -> Any:
    """The JSON of an answer; WorkError if it is none."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise WorkError(
            "wrong_input",
            f"The store's answer cannot be read: {error}.",
            "Check that the endpoint in the store's settings is Cloud Storage's API.",
        ) from error


def entry_of(found: Mapping[str, Any], cut: int = 0) -> Entry:
    """An object of a listing, with the first `cut` characters of its key left out.

    Cloud Storage's own ETag changes with the metadata, and is no checksum. So the manifest keeps
    the MD5, or the CRC32C of an object that has none because it was composed; and the generation,
    which names exactly these bytes.
    """
    if md5 := found.get("md5Hash"):
        etag = base64.b64decode(md5).hex()
    else:
        etag = f"{CRC32C}{found.get('crc32c', '')}"
    return Entry(found["name"][cut:], int(found.get("size", 0)), etag, str(found["generation"]))
