"""Raw requests to one API server, every one with a time-out, every failure a ClusterError."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Any, Self
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError
from urllib3.exceptions import TimeoutError as LateError

from bot.cluster.api.answers import refusal, sentence
from bot.cluster.api.credentials import Access, load_access
from bot.cluster.api.logins.login import Login
from bot.errors import ClusterError

JSON = "application/json"
CHUNK_BYTES = 65_536
_BODY_CHUNK_BYTES = 1_048_576  # pages of a list have megabytes, lines of a watch kilobytes


@dataclass(frozen=True)
class Timeouts:
    """How long anything may take or be kept, in seconds.

    Reading the headers of credentials takes a millisecond, so they are kept for a while; tokens are
    renewed minutes before they expire.
    """

    connect: float = 3.0
    read: float = 10.0
    whole: float = 25.0
    renewals_apart: float = 10.0
    headers_kept: float = 5.0


@dataclass(frozen=True)
class Request:
    """One request; `doing` begins the sentence that says what failed."""

    doing: str
    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON


@dataclass(frozen=True)
class Answer:
    """A success."""

    body: bytes
    headers: Mapping[str, str]


class Stream:
    """A body that arrives line by line; another thread may cut it."""

    def __init__(self, response: urllib3.HTTPResponse) -> None:
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """The lines that are whole, until the server ends the stream."""
        rest = b""
        while chunk := self._response.read1(CHUNK_BYTES):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line for line in whole if line)

    def cut(self) -> None:
        """Ends `lines` at once, also while it waits."""
        try:
            self._response.shutdown()
        except (OSError, RuntimeError, ValueError):
            self._response.close()


class Connection:
    """The connection to one API server; safe to use from many threads."""

    def __init__(self, load: Callable[[], Access], timeouts: Timeouts | None = None) -> None:
        self._load = load
        self.timeouts = timeouts or Timeouts()
        self._access: Access | None = None
        self._renewed_at = float("-inf")
        self._headers: dict[str, str] = {}
        self._asked_at = float("-inf")
        self._kept: tuple[Access, dict[str, str]] | None = None
        self._lock = Lock()

    @classmethod
    def to(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        timeouts: Timeouts | None = None,
    ) -> Self:
        """The cluster that a kubeconfig names; without one KUBECONFIG or the pod's account."""
        return cls(partial(load_access, kubeconfig, context), timeouts)

    def send(self, request: Request) -> Answer:
        """The answer, if it is a success; redirects are not followed."""
        with _failing(request.doing), self._open(request) as response:
            return Answer(self._read(response), response.headers)

    def chunks(self, request: Request, deadline: float) -> Iterator[bytes]:
        """The body piece by piece, until it ends or is left; late after the monotonic deadline."""
        with _failing(request.doing):
            response = self._open(request)
            try:
                while chunk := response.read1(CHUNK_BYTES):
                    yield chunk
                    if time.monotonic() > deadline:
                        raise LateError("the response did not end")
            finally:
                response.close()

    @contextmanager
    def stream(self, request: Request, silence_seconds: float) -> Iterator[Stream]:
        """A body without end; it fails when nothing came for `silence_seconds`."""
        with _failing(request.doing):
            response = self._open(request)
            try:
                _wait_longer(response, silence_seconds)
                yield Stream(response)
            finally:
                response.close()

    def _open(self, request: Request) -> urllib3.HTTPResponse:
        """The response without its body; rejected credentials are reloaded once."""
        access, headers = self._credentials(None)
        response = self._exchange(access, headers, request)
        if response.status == HTTPStatus.UNAUTHORIZED:
            said = self._read(response)
            renewed, headers = self._credentials(access)
            if renewed is access:
                raise _with_login(refusal(request.doing, response.status, said), access.login)
            access, response = renewed, self._exchange(renewed, headers, request)
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            retry_after = response.headers.get("Retry-After", "")
            error = refusal(request.doing, response.status, self._read(response), retry_after)
            raise _with_login(error, access.login)
        return response

    def login(self) -> Login:
        """How the bot logs in; ClusterError if its credentials cannot be loaded."""
        return self._credentials(None)[0].login

    def _credentials(self, refused: Access | None) -> tuple[Access, dict[str, str]]:
        """Access with its headers; reloaded if it was rejected, at a limited rate."""
        kept = self._kept
        if refused is None and kept is not None and self._lock.locked():
            # Another thread renews them, minutes before they end.
            return kept
        # Programs that make tokens may hang; whoever waits behind one gives up.
        if not self._lock.acquire(timeout=self.timeouts.read):
            raise ClusterError(
                "Waiting for the cluster's credentials took too long.", reason="Timeout"
            )
        found: tuple[Access, dict[str, str]] | None = None
        try:
            if refused is not None:
                self._kept = None
            now = time.monotonic()
            age = now - self._asked_at
            is_stale = refused is not None or age >= self.timeouts.headers_kept
            access = self._loaded(refused, now)
            if access is not self._access or is_stale:
                self._access, self._asked_at = access, float("-inf")
                self._headers, self._asked_at = access.headers(), now
            found = access, self._headers
            return found
        finally:
            self._kept = found
            self._lock.release()

    def _loaded(self, refused: Access | None, now: float) -> Access:
        """The access that there is; another one if there is none, or if it was rejected or ends.

        While one that ends cannot be renewed, it serves on.
        """
        known = self._access
        if known is None:
            return self._load()
        is_rejected = refused is known
        is_due = is_rejected or time.time() >= known.login.renew_at
        if not is_due or now - self._renewed_at <= self.timeouts.renewals_apart:
            return known
        self._renewed_at = now
        try:
            return self._load()
        except ClusterError:
            if is_rejected:
                raise
            return known

    def _exchange(
        self, access: Access, headers: dict[str, str], request: Request
    ) -> urllib3.HTTPResponse:
        url = access.host + request.path
        if request.query:
            url += "?" + urlencode(request.query)
        send = partial(
            access.pool.urlopen,
            request.method,
            url,
            body=request.body,
            headers={**headers, **self._plain_headers(request)},
            timeout=urllib3.Timeout(connect=self.timeouts.connect, read=self.timeouts.read),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            response: urllib3.HTTPResponse = send()
        except ProtocolError:
            # An idle connection that the server closed just now; a GET may simply be repeated.
            if request.method != "GET":
                raise
            response = send()
        return response

    def _plain_headers(self, request: Request) -> dict[str, str]:
        headers = {"Accept": request.accept, "User-Agent": "quartermaster"}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return headers

    def _read(self, response: urllib3.HTTPResponse) -> bytes:
        """The whole body; a server that sends it drop by drop is given up on."""
        deadline = time.monotonic() + self.timeouts.whole
        chunks = []
        while chunk := response.read1(_BODY_CHUNK_BYTES):
            chunks.append(chunk)
            if time.monotonic() > deadline:
                response.close()
                raise LateError(f"it took more than {self.timeouts.whole:g} s")
        return b"".join(chunks)


def _with_login(error: ClusterError, login: Login) -> ClusterError:
    """A refusal of the bot's credentials says which these are."""
    if error.status != HTTPStatus.UNAUTHORIZED:
        return error
    hint = f"The cluster does not accept {login.means}; `quartermaster doctor` says what to do."
    return ClusterError(error.message, hint, status=error.status, reason=error.reason)


def _wait_longer(response: urllib3.HTTPResponse, seconds: float) -> None:
    """An answer must begin soon; what follows may take its time."""
    connection: Any = response.connection
    # Without a socket of its own the answer ends with its connection, and keeps the short wait.
    if connection is not None and connection.sock is not None:
        connection.sock.settimeout(seconds)


@contextmanager
def _failing(doing: str) -> Iterator[None]:
    try:
        yield
    except (HTTPError, OSError) as error:
        # urllib3 counts a refused connection among those that took too long.
        late = isinstance(error, LateError) and not isinstance(error, NewConnectionError)
        said = "no answer in time" if late else "the API server cannot be reached"
        raise ClusterError(
            sentence(doing, f"{said} ({_plain(error)})"),
            reason="Timeout" if late else "Unreachable",
        ) from error


def _plain(error: Exception) -> str:
    """The cause in a few words, without the address it concerns."""
    text = str(error.args[0] if isinstance(error, ProtocolError) else error)
    return (text.partition("): ")[2] or text).rstrip(". ")
