"""FSx's API as an ASGI application: AWS JSON 1.1, every request signed."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from playground.fsx.estate import Body, Estate
from playground.fsx.refusals import FsxRefusalError, bad_request
from playground.fsx.requests import REQUESTS
from playground.fsx.signing import Signed
from playground.ledger import Ledger
from playground.loopback import Receive, Scope, Send

SERVICE = "fsx"
REGION = "eu-central-1"
_TARGET, _KIND = "AWSSimbaAPIService_v20180301", "application/x-amz-json-1.1"
_EFFECTS = frozenset({"CreateDataRepositoryTask", "CancelDataRepositoryTask"})


def _real_now() -> datetime:
    return datetime.now(UTC)


class FsxApp:
    """Serves one region of one account; the next answers are `refusals`, by their operation."""

    def __init__(
        self, ledger: Ledger, now: Callable[[], datetime] = _real_now, region: str = REGION
    ) -> None:
        self.estate = Estate(region, now)
        self.ledger = ledger
        self.refusals: dict[str, list[FsxRefusalError]] = {}
        self.answers: list[tuple[str, Body]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
        content = await _body(receive)
        try:
            operation, asked = self._read(scope, headers, content)
        except FsxRefusalError as error:
            await _respond(send, error.status, error.body)
            return
        about = str(asked.get("FileSystemId") or asked.get("TaskId") or "")
        request = self.ledger.open(SERVICE, operation, about, effect=operation in _EFFECTS)
        if await self.ledger.arrived(request):
            await _hang_up(receive, send)
            return
        status, body = self._answer(operation, asked)
        if await self.ledger.answered(request):
            await _hang_up(receive, send)
            return
        await _respond(send, status, body)

    def refuse(self, operation: str, code: str, status: int = 400) -> None:
        """The next request for an operation is refused so, before it has any effect."""
        message = f"Refused with {code}."
        self.refusals.setdefault(operation, []).append(FsxRefusalError(code, message, status))

    def _answer(self, operation: str, asked: Body) -> tuple[int, Body]:
        try:
            if self.refusals.get(operation):
                raise self.refusals[operation].pop(0)
            body = self.estate.answer(operation, asked)
        except FsxRefusalError as error:
            return error.status, error.body
        self.answers.append((operation, body))
        return 200, body

    def _read(self, scope: Scope, headers: dict[str, str], content: bytes) -> tuple[str, Body]:
        if scope["method"] != "POST" or scope["path"] != "/" or scope["query_string"]:
            raise FsxRefusalError("UnknownOperationException", "All goes to POST /.", 404)
        if headers.get("content-type") != _KIND:
            raise bad_request(f"The body is to be {_KIND}.")
        Signed(headers, content).check(self.estate.region)
        service, _, operation = headers.get("x-amz-target", "").partition(".")
        if service != _TARGET or operation not in REQUESTS:
            raise FsxRefusalError("UnknownOperationException", f"There is no {operation}.")
        try:
            asked: Any = json.loads(content)
        except ValueError:
            raise FsxRefusalError("SerializationException", "The body is not JSON.") from None
        REQUESTS[operation](operation, asked)
        return operation, asked


async def _body(receive: Receive) -> bytes:
    content, more = b"", True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = bool(message.get("more_body"))
    return content


async def _respond(send: Send, status: int, body: Body) -> None:
    headers = [(b"content-type", _KIND.encode()), (b"x-amzn-requestid", b"playground")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def _hang_up(receive: Receive, send: Send) -> None:
    """Tears the connection down without an answer."""
    transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]  # uvicorn's
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
