"""Sends presigned requests: what the store answers, and what a retry may mend."""

import io
import ssl
from collections.abc import Sequence
from typing import Final, NamedTuple

import urllib3

from bot.datasets.worker.failures import WorkError, wrong_input

REDIRECTED, FORBIDDEN, NOT_FOUND = 300, 403, 404
_TIMED_OUT, _CONFLICT, _PRECONDITION, _BUSY, _SERVER, _NOT_IMPLEMENTED = (
    408,
    409,
    412,
    429,
    500,
    501,
)
# With the status 400: of a request whose temporary keys are older than it, and of a body that did
# not arrive whole or in time.
EXPIRED = "ExpiredToken"
_NOT_ARRIVED = ("RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch")
_OUTDATED = (FORBIDDEN, NOT_FOUND, _CONFLICT, _PRECONDITION)
_WORDS_SHOWN = 200


class SignedResponse(NamedTuple):
    """What the store answers; `code` is that of an error, empty without one."""

    status: int
    body: bytes
    etag: str

    @property
    def code(self) -> str:
        """The error code of an S3 server. The rest of its answer has the URL."""
        text = self.body[:2000].decode("utf-8", "replace")
        return text.partition("<Code>")[2].partition("</Code>")[0][:60]

    @property
    def said(self) -> str:
        """Status and code of an error."""
        return f"{self.status} {self.code}".strip()

    @property
    def is_outdated(self) -> bool:
        """Whether the request expired, or an object or another upload is there now."""
        return self.status in _OUTDATED or self.code == EXPIRED

    @property
    def may_be_repeated(self) -> bool:
        """Whether a retry of the same request may succeed."""
        if self.status in (_BUSY, _TIMED_OUT):
            return True
        if self.status >= REDIRECTED and self.code in _NOT_ARRIVED:
            return True
        return self.status >= _SERVER and self.status != _NOT_IMPLEMENTED


class SignedRequests:
    """Connections to the stores, which trust `ca_files` besides the system's authorities.

    `again` and `untrusted` are what to do if a store does not respond, and if it is not trusted.
    """

    def __init__(
        self,
        workers: int,
        ca_files: Sequence[str],
        time_out: urllib3.Timeout,
        *,
        again: str = "",
        untrusted: str = "",
    ) -> None:
        self._again: Final = again
        self._untrusted: Final = untrusted
        self._time_out: Final = time_out
        self._pool: Final = urllib3.PoolManager(
            maxsize=workers, block=True, ssl_context=_trusting(ca_files)
        )

    def send(
        self, method: str, url: str, content: bytes, headers: dict[str, str]
    ) -> SignedResponse:
        """The response; WorkError (store_down) if the store does not respond."""
        try:
            answer = self._pool.request(
                method,
                url,
                # A file is sent in blocks, each with a time-out; bytes have one for all of them,
                # which a slow line would exceed.
                body=io.BytesIO(content) if content else None,
                headers=headers | ({"Content-Length": str(len(content))} if content else {}),
                timeout=self._time_out,
                retries=False,
                redirect=False,
                decode_content=False,
            )
        except urllib3.exceptions.SSLError as error:
            raise wrong_input(
                f"The certificate of the object store is not trusted: {_why(error)}.",
                self._untrusted,
            ) from None
        except urllib3.exceptions.HTTPError as error:
            # Without the cause: it has the URL, which is a secret.
            host = urllib3.util.parse_url(url).host
            said = f"The object store {host} does not respond: {_why(error)}."
            raise WorkError("store_down", said, self._again) from None
        etag = answer.headers.get("ETag", "").strip('"')
        response = SignedResponse(answer.status, answer.data, etag)
        if response.may_be_repeated:
            said = f"The object store is too busy: {response.said}."
            raise WorkError("store_down", said, self._again)
        return response

    def close(self) -> None:
        """Closes the connections."""
        self._pool.clear()


def _trusting(ca_files: Sequence[str]) -> ssl.SSLContext:
    """Trusts the computer's authorities and those: two stores may have different ones."""
    context = ssl.create_default_context()
    for each in ca_files:
        try:
            context.load_verify_locations(each)
        except OSError as error:
            raise wrong_input(
                f"{each} has no certificates that can be read: {_why(error)}.",
                "Name a PEM file, which has BEGIN CERTIFICATE.",
            ) from error
    return context


def _why(error: Exception) -> str:
    return str(error).rpartition(": ")[2][:_WORDS_SHOWN] or type(error).__name__
