"""Slack's signed HTTP requests: an ASGI application that answers them in threads."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from typing import Any

from slack_bolt import BoltRequest, BoltResponse

from bot.slack import metrics
from bot.slack.incoming import Arrival, Foreground
from bot.slack.listeners import ARRIVAL
from bot.slack.reception import Request

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

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
        answer: Callable[[Request], BoltResponse],
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
        self._under_way = 0
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request of Slack."""
        received = time.monotonic()
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        status = 405 if scope["method"] != "POST" else _refusal(headers, time.time())
        if status is not None:
            await _refuse(send, status)
            return
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await _body(receive)
        except TimeoutError:
            await _refuse(send, 408)
            return
        if body is None:
            await _refuse(send, 413)
        elif self._stopping or self._under_way >= self._most:
            metrics.REFUSED.inc()
            await _refuse(send, 503)
        else:
            await self._take(body, headers, send, received)

    def stop(self) -> None:
        """Answers requests that have arrived; later ones are answered 503."""
        self._stopping = True
        self._threads.shutdown()

    async def _take(
        self, body: bytes, headers: dict[str, str], send: Send, received: float
    ) -> None:
        arrival = Arrival(received, headers.get(_RETRY_NUMBER, "0") != "0")
        self._under_way += 1
        try:
            with self._foreground():
                await _send(send, await self._answer(body, headers, arrival))
        finally:
            self._under_way -= 1
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


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when it is larger than anything that Slack sends."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def _send(send: Send, answer: BoltResponse) -> None:
    body = answer.body.encode()
    headers = [
        (name.encode(), value.encode())
        for name, values in answer.headers.items()
        for value in values
    ]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(send: Send, status: int) -> None:
    # Whoever has more to send is not waited for.
    headers = [(b"connection", b"close"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
