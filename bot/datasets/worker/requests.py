"""Signed requests to an S3 server, each with a time-out and retries for a limited time.

They are for everything but the bulk of the data: listings, manifests and metadata of one object.
obstore lists too, but a key with `//`, `..` or a line feed ends its listing, and it reports neither
version ids nor folder markers. A survey has to find such keys.
"""

import io
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.store import Keys, Store, authority, base_url, keys
from bot.datasets.worker.xml import error_code

_TIME_OUT = urllib3.Timeout(connect=5, read=20)
# While a store receives a part, or assembles parts, it sends nothing.
_WRITING_TIME_OUT = urllib3.Timeout(connect=5, read=120)
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0
_CONNECTIONS = 32
_REDIRECTED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMED_OUT = 300, 401, 403, 404, 408
_PRECONDITION, _BUSY, _SERVER, _NOT_IMPLEMENTED = 412, 429, 500, 501
_WORDS_SHOWN = 200
# Errors with status 400 for a body that did not arrive whole, or in time.
_NOT_ARRIVED = {"RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"}
_ACCESS_HINTS = {
    "InvalidAccessKeyId": "The store does not know the access key in its Secret.",
    "SignatureDoesNotMatch": "The secret key in the store's Secret does not match the access key.",
    "RequestTimeTooSkewed": "The clock of this node is too far off.",
    "ExpiredToken": "The session token has expired. Put a new one into the store's Secret.",
}

Query = Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """The answer of the server; `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RefusedError(WorkError):
    """The server rejected a request, with this HTTP status and S3 error code."""

    status: int = 0
    code: str = ""


class Requests:
    """Requests to one bucket of one store; thread-safe."""

    def __init__(self, where: Store, bucket: str, patience_seconds: float) -> None:
        self._store: Final = where
        self._base: Final = base_url(where, bucket)
        self._path: Final = urlsplit(self._base).path
        self._patience: Final = patience_seconds
        self._pool: Final = _pool(where, self._base)
        self._keys: Keys = keys(where)
        self._pause: Final = threading.Event()

    def get(self, key: str = "", query: Query | None = None, *, method: str = "GET") -> Answer:
        """Reads an object, or the bucket without a key."""
        return self._send(method, key, query or {}, b"", {})

    def head(self, key: str, query: Query, headers: Mapping[str, str]) -> Answer:
        """Reads the metadata of an object."""
        return self._send("HEAD", key, query, b"", headers)

    def put(self, key: str, body: bytes) -> None:
        """Writes an object; idempotent."""
        self._send("PUT", key, {}, body, {})

    def begin(self, key: str, headers: Mapping[str, str]) -> Answer:
        """Starts a multipart upload, without retries, as each would start another upload."""
        return self._try("POST", _target(key, {"uploads": ""}), b"", headers)

    def write(
        self, method: str, key: str, query: Query, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """Sends a part of an object, or completes or ends its upload."""
        return self._send(method, key, query, body, headers)

    def close(self) -> None:
        """Closes its connections."""
        self._pool.close()

    def _send(
        self, method: str, key: str, query: Query, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        target = _target(key, query)
        pause, waited = _FIRST_PAUSE_SECONDS, 0.0
        while True:
            try:
                return self._try(method, target, body, headers)
            except WorkError as error:
                if error.reason != "store_down" or waited >= self._patience:
                    raise
            self._pause.wait(pause)
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _try(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        signed = self._signed(method, target, body, headers)
        try:
            answer = self._pool.urlopen(
                method,
                f"{self._path}{target}",
                # A file is sent in blocks, each with a time-out; bytes have one for all of them.
                body=io.BytesIO(body) if body else None,
                headers=signed | ({"Content-Length": str(len(body))} if body else {}),
                timeout=_WRITING_TIME_OUT if body else _TIME_OUT,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.SSLError as error:
            raise self._untrusted(error) from error
        except urllib3.exceptions.HTTPError as error:
            raise WorkError(
                "store_down",
                f"The object store {self._host} does not respond: {_words(error)}.",
                "Nothing is lost: the next attempt continues where this one stopped.",
            ) from error
        if answer.status < _REDIRECTED:
            known = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, known, answer.data)
        raise self._refusal(method, target, answer.status, error_code(answer.data))

    def _signed(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> dict[str, str]:
        if not self._keys.are_fresh:
            self._keys = keys(self._store)
        request = AWSRequest(
            method=method, url=f"{self._base}{target}", data=body, headers=dict(headers)
        )
        known = Credentials(self._keys.access_key, self._keys.secret_key, self._keys.token)
        S3SigV4Auth(known, "s3", self._store.region).add_auth(request)
        return dict(request.headers.items())

    @property
    def _host(self) -> str:
        return urlsplit(self._base).netloc

    def _untrusted(self, error: Exception) -> WorkError:
        return wrong_input(
            f"The certificate of {self._host} is not trusted: {_words(error)}.",
            "Set ca_file in the store's settings to the CA that signed it.",
        )

    def _refusal(self, method: str, target: str, status: int, code: str) -> WorkError:
        said = f"{status} {code}".strip()
        what = f"{method} {self._host}{self._path}{target.partition('?')[0]}"
        error: RefusedError
        if status in (_FORBIDDEN, _UNAUTHORIZED) or code in _ACCESS_HINTS:
            hint = _ACCESS_HINTS.get(code, "Allow these keys to list the bucket and read objects.")
            error = RefusedError("no_access", f"The store rejected {what}: {said}.", hint)
        elif status == _NOT_FOUND:
            hint = "Check the spelling of the bucket and the prefix."
            error = RefusedError("not_found", f"The store does not have {what}: {said}.", hint)
        elif _may_be_repeated(status, code):
            error = RefusedError("store_down", f"The store cannot handle {what} now: {said}.")
        elif status == _PRECONDITION:
            error = RefusedError("changed", f"{what} does not match what is in the store: {said}.")
        else:
            hint = "Check endpoint, region and path_style in the store's settings."
            error = RefusedError("wrong_input", f"The store rejected {what}: {said}.", hint)
        error.status, error.code = status, code
        return error


def _may_be_repeated(status: int, code: str) -> bool:
    """Whether a retry of the same request may succeed."""
    is_busy = status in (_BUSY, _TIMED_OUT) or code in _NOT_ARRIVED
    return is_busy or (status >= _SERVER and status != _NOT_IMPLEMENTED)


def _target(key: str, query: Query) -> str:
    """The path below the bucket."""
    asked = f"?{urlencode(sorted(query.items()), quote_via=quote)}" if query else ""
    return f"/{quote(key, safe='/~')}{asked}"


def _pool(where: Store, url: str) -> urllib3.HTTPConnectionPool:
    ca = authority(where)
    if ca and url.startswith("https:"):
        manager = urllib3.PoolManager(maxsize=_CONNECTIONS, ca_cert_data=ca)
    else:
        manager = urllib3.PoolManager(maxsize=_CONNECTIONS)
    return manager.connection_from_url(url)


def _words(error: Exception) -> str:
    return str(error).rpartition(": ")[2][:_WORDS_SHOWN] or type(error).__name__
