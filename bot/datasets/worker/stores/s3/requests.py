"""Signed requests to an S3 server.

They are for everything but the bulk of the data: listings, manifests and metadata of one object.
obstore lists too, but a key with `//`, `..` or a line feed ends its listing, and it reports neither
version ids nor folder markers. A survey has to find such keys.
"""

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import quote, urlencode

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bot.datasets.worker.stores.http import Answer, Call, StoreHttp
from bot.datasets.worker.stores.s3.keys import Keys, keys
from bot.datasets.worker.stores.s3.settings import S3Settings, base_url
from bot.datasets.worker.stores.s3.xml import error_code
from bot.datasets.worker.stores.settings import authority

Query = Mapping[str, str]


class Requests:
    """Requests to one bucket of one store; thread-safe."""

    def __init__(self, where: S3Settings, bucket: str, patience_seconds: float) -> None:
        url = base_url(where, bucket)
        self._http: Final = StoreHttp(url, _S3(where), authority(where), patience_seconds)

    def get(self, key: str = "", query: Query | None = None, *, method: str = "GET") -> Answer:
        """Reads an object, or the bucket without a key."""
        return self._http.send(Call(method, target_of(key, query or {})))

    def head(self, key: str, query: Query, headers: Mapping[str, str]) -> Answer:
        """Reads the metadata of an object."""
        return self._http.send(Call("HEAD", target_of(key, query), headers=headers))

    def put(self, key: str, body: bytes) -> None:
        """Writes an object; idempotent."""
        self._http.send(Call("PUT", target_of(key, {}), body))

    def begin(self, key: str, headers: Mapping[str, str]) -> Answer:
        """Starts a multipart upload, without retries, as each would start another upload."""
        return self._http.send_once(Call("POST", target_of(key, {"uploads": ""}), headers=headers))

    def write(
        self, method: str, key: str, query: Query, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """Sends a part of an object, or completes or ends its upload."""
        return self._http.send(Call(method, target_of(key, query), body, headers))

    def copy(self, key: str, query: Query, headers: Mapping[str, str]) -> Answer:
        """Writes an object, or a part of one, from another object; idempotent."""
        call = Call("PUT", target_of(key, query), headers=headers, is_slow=True)
        return self._http.send(call)

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()


class _S3:
    """Signs requests by Signature Version 4, and words S3's errors."""

    access_hints: Mapping[str, str] = {
        "InvalidAccessKeyId": "The store does not know the access key in its Secret.",
        "SignatureDoesNotMatch": (
            "The secret key in the store's Secret does not match the access key."
        ),
        "RequestTimeTooSkewed": "The clock of this node is too far off.",
        "ExpiredToken": "The session token has expired. Put a new one into the store's Secret.",
    }
    access_hint = "Allow these keys to list the bucket and read objects."
    settings_hint = "Check endpoint, region and path_style in the store's settings."
    not_arrived: Collection[str] = (
        *("RequestTimeout", "IncompleteBody"),
        *("BadDigest", "XAmzContentSHA256Mismatch"),
    )

    def __init__(self, where: S3Settings) -> None:
        self._where: Final = where
        self._keys: Keys = keys(where)

    def signed(self, url: str, call: Call) -> Mapping[str, str]:
        """All headers to send."""
        if not self._keys.are_fresh:
            self._keys = keys(self._where)
        request = AWSRequest(
            method=call.method, url=url, data=call.body, headers=dict(call.headers)
        )
        known = Credentials(self._keys.access_key, self._keys.secret_key, self._keys.token)
        S3SigV4Auth(known, "s3", self._where.region).add_auth(request)
        return dict(request.headers.items())

    def code(self, body: bytes) -> str:
        """The error code in an answer."""
        return error_code(body)


def target_of(key: str, query: Query) -> str:
    """The path and query of a request, below the URL of the bucket."""
    asked = f"?{urlencode(sorted(query.items()), quote_via=quote)}" if query else ""
    return f"/{quote(key, safe='/~')}{asked}"
