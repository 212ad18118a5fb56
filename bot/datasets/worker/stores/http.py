"""Authenticated HTTP requests to an object store, with time-outs and retries for a limited time."""

import io
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit

import urllib3

from bot.datasets.worker.failures import WorkError, wrong_input

_TIME_OUT = urllib3.Timeout(connect=5, read=20)
# While a store receives a part, or assembles parts, it sends nothing.
_WRITING_TIME_OUT = urllib3.Timeout(connect=5, read=120)
_COPYING_TIME_OUT = urllib3.Timeout(connect=5, read=600)
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0
_CONNECTIONS = 32
_REDIRECTED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMED_OUT = 300, 401, 403, 404, 408
_PRECONDITION, _BUSY, _SERVER, _NOT_IMPLEMENTED = 412, 429, 500, 501
_WORDS_SHOWN = 200


@dataclass(frozen=True)
class Answer:
    """The answer of the server; `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call:
    """A request; `target` is the path and query after the base URL.

    `accepted` are statuses of 300 and above that are no failures. `is_slow`: the store copies
    gigabytes before it answers.
    """

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    accepted: Collection[int] = ()
    is_slow: bool = False

    @property
    def time_out(self) -> urllib3.Timeout:
        """How long the store may take to connect and to send the next bytes."""
        if self.is_slow:
            return _COPYING_TIME_OUT
        return _WRITING_TIME_OUT if self.body else _TIME_OUT


class Dialect(Protocol):
    """How one type of store authenticates requests, and words its errors."""

    access_hints: Mapping[str, str]
    """What to do about codes that mean wrong credentials."""

    access_hint: str
    """What to do about other requests that were denied."""

    settings_hint: str
    """What to check in the settings when a request is not understood."""

    not_arrived: Collection[str]
    """Codes of a body that did not arrive whole, or in time."""

    def signed(self, url: str, call: Call) -> Mapping[str, str]:
        """All headers to send; WorkError (no_access) without credentials."""

    def code(self, body: bytes) -> str:
        """The error code in an answer; empty without one."""


class RefusedError(WorkError):
    """The server rejected a request, with this HTTP status and error code."""

    status: int = 0
    code: str = ""


class StoreHttp:
    """Requests below one base URL of a store; thread-safe."""

    def __init__(
        self, base: str, dialect: Dialect, certificates: str | None, patience_seconds: float
    ) -> None:
        self._base: Final = base
        self._path: Final = urlsplit(base).path
        self._dialect: Final = dialect
        self._patience: Final = patience_seconds
        self._pool: Final = _pool(base, certificates)
        self._pause: Final = threading.Event()

    def send(self, call: Call) -> Answer:
        """The answer; RefusedError if the server rejects the request, WorkError if it is down."""
        pause, waited = _FIRST_PAUSE_SECONDS, 0.0
        while True:
            try:
                return self.send_once(call)
            except WorkError as error:
                if error.reason != "store_down" or waited >= self._patience:
                    raise
            self._pause.wait(pause)
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def send_once(self, call: Call) -> Answer:
        """The answer of one attempt."""
        signed = dict(self._dialect.signed(f"{self._base}{call.target}", call))
        body = call.body
        try:
            answer = self._pool.urlopen(
                call.method,
                f"{self._path}{call.target}",
                # A file is sent in blocks, each with a time-out; bytes have one for all of them.
                body=io.BytesIO(body) if body else None,
                headers=signed | ({"Content-Length": str(len(body))} if body else {}),
                timeout=call.time_out,
                retries=False,
                redirect=False,
                decode_content=False,
            )
        except urllib3.exceptions.SSLError as error:
            raise self._untrusted(error) from error
        except urllib3.exceptions.HTTPError as error:
            raise WorkError(
                "store_down",
                f"The object store {self._host} does not respond: {_words(error)}.",
                "Nothing is lost: the next attempt continues where this one stopped.",
            ) from error
        if answer.status < _REDIRECTED or answer.status in call.accepted:
            known = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, known, answer.data)
        raise self._refusal(call, answer.status, self._dialect.code(answer.data))

    def close(self) -> None:
        """Closes its connections."""
        self._pool.close()

    @property
    def _host(self) -> str:
        return urlsplit(self._base).netloc

    def _untrusted(self, error: Exception) -> WorkError:
        return wrong_input(
            f"The certificate of {self._host} is not trusted: {_words(error)}.",
            "Set ca_file in the store's settings to the CA that signed it.",
        )

    def _refusal(self, call: Call, status: int, code: str) -> WorkError:
        said = f"{status} {code}".strip()
        what = f"{call.method} {self._host}{self._path}{call.target.partition('?')[0]}"
        known = self._dialect
        error: RefusedError
        if status in (_FORBIDDEN, _UNAUTHORIZED) or code in known.access_hints:
            hint = known.access_hints.get(code, known.access_hint)
            error = RefusedError("no_access", f"The store rejected {what}: {said}.", hint)
        elif status == _NOT_FOUND:
            hint = "Check the spelling of the bucket and the prefix."
            error = RefusedError("not_found", f"The store does not have {what}: {said}.", hint)
        elif code in known.not_arrived or _may_be_repeated(status):
            error = RefusedError("store_down", f"The store cannot handle {what} now: {said}.")
        elif status == _PRECONDITION:
            error = RefusedError("changed", f"{what} does not match what is in the store: {said}.")
        else:
            hint = known.settings_hint
            error = RefusedError("wrong_input", f"The store rejected {what}: {said}.", hint)
        error.status, error.code = status, code
        return error


def _may_be_repeated(status: int) -> bool:
    """Whether a retry of the same request may succeed."""
    return status in (_BUSY, _TIMED_OUT) or (status >= _SERVER and status != _NOT_IMPLEMENTED)


def _pool(url: str, certificates: str | None) -> urllib3.HTTPConnectionPool:
    if certificates and url.startswith("https:"):
        manager = urllib3.PoolManager(maxsize=_CONNECTIONS, ca_cert_data=certificates)
    else:
        manager = urllib3.PoolManager(maxsize=_CONNECTIONS)
    return manager.connection_from_url(url)


def _words(error: Exception) -> str:
    return str(error).rpartition(": ")[2][:_WORDS_SHOWN] or type(error).__name__
