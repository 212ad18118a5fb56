"""Slack's signed HTTP requests: an ASGI application that answers them in threads."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial

from slack_bolt import BoltRequest, BoltResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bot.slack import metrics
from bot.slack.receiving.incoming import Arrival, Foreground
from bot.slack.receiving.listeners import ARRIVAL
from bot.slack.receiving.reception import MakeRequest

MOST_BYTES = 1_000_000
_STAMP = re.compile(r"[0-9]{1,12}")
_STAMP_SECONDS = 300
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_LENGTH = re.compile(r"[0-9]{1,12}")
_RETRY_NUMBER = "x-slack-retry-num"


class SlackHttp:
    """Receives Slack's requests; with `most` others in progress, a request is answered 503.

    A request whose headers cannot be Slack's is rejected before its body is read. A body has
    `body_seconds` to arrive, and only then counts as in progress, so that slow senders do not
    block others.

    `foreground` is entered when a request has fully arrived, until its answer is sent. Requests
    are answered in `threads`, which `stop` ends.
    """

    def __init__(
        self,
        threads: Executor,
        answer: Callable[[MakeRequest], BoltResponse],
        foreground: Foreground = nullcontext,
        *,
        most: int = 128,
        body_seconds: float = 2.0,
    ) -> None:
        self._threads = threads
        self._respond = answer
        self._foreground = foreground
        self._most = most
        self._body_seconds = body_seconds
        self._in_progress = 0
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one POST request of Slack."""
        received, request = time.monotonic(), Request(scope, receive)
        status = _refusal(request.headers, time.time())
        body = b""
        if status is None:
            try:
                async with asyncio.timeout(self._body_seconds):
                    body = await _body(request)
            except TimeoutError:
                status = 408
            except ClientDisconnect:
                return
        if len(body) > MOST_BYTES:
            status = 413
        elif status is None and (self._stopping or self._in_progress >= self._most):
            metrics.REFUSED.inc()
            status = 503
        if status is None:
            await self._take(body, request, send, received)
        else:  # a client that has more to send is not waited for
            await Response(status_code=status, headers={"connection": "close"})(
                scope, receive, send
            )

    def stop(self) -> None:
        """Answers requests that have arrived; later ones are answered 503."""
        self._stopping = True
        self._threads.shutdown()

    async def _take(self, body: bytes, request: Request, send: Send, received: float) -> None:
        headers = dict(request.headers)
        arrival = Arrival(received, headers.get(_RETRY_NUMBER, "0") != "0")
        self._in_progress += 1
        try:
            with self._foreground():
                answer = await self._answer(body, headers, arrival)
                headers = {name: ", ".join(values) for name, values in answer.headers.items()}
                response = Response(answer.body, answer.status, headers)
                await response(request.scope, request.receive, send)
        finally:
            self._in_progress -= 1
            arrival.acknowledged()

    async def _answer(self, body: bytes, headers: dict[str, str], arrival: Arrival) -> BoltResponse:
        try:
            answer = self._threads.submit(self._respond, partial(_request, body, headers, arrival))
        except RuntimeError:  # it was stopped while the body was read
            return BoltResponse(status=503)
        return await asyncio.wrap_future(answer)


def _request(body: bytes, headers: dict[str, str], arrival: Arrival) -> BoltRequest:
    text = body.decode("utf-8", errors="replace")
    return BoltRequest(body=text, headers={**headers}, context={ARRIVAL: arrival})


def _refusal(headers: Mapping[str, str], now: float) -> int | None:
    """The status that says no to headers with which Slack sends nothing; None for the others."""
    stamp = headers.get("x-slack-request-timestamp", "")
    if not _STAMP.fullmatch(stamp) or abs(now - int(stamp)) > _STAMP_SECONDS:
        return 401
    if not _SIGNATURE.fullmatch(headers.get("x-slack-signature", "")):
        return 401
    length = headers.get("content-length", "0")
    return 413 if not _LENGTH.fullmatch(length) or int(length) > MOST_BYTES else None


async def _body(request: Request) -> bytes:
    """The body, read no further than is needed to see that it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            break
    return bytes(body)
