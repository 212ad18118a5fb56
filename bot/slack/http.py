"""Slack's signed HTTP requests: an ASGI application that has them answered in threads."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from slack_bolt import BoltRequest, BoltResponse

from bot.slack import metrics
from bot.slack.incoming import Arrival, Hurry
from bot.slack.listeners import ARRIVAL
from bot.slack.reception import Request
from bot.slack.relay import Relay

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

MOST_BYTES = 1_000_000
_RETRY_NUMBER = "x-slack-retry-num"


class SlackHttp:
    """Takes Slack's requests; one that finds `most` others under way is answered 503.

    `hurry` is entered from when a request has arrived as a whole until its answer is out. They are
    answered in `threads`, which `stop` ends.
    """

    def __init__(
        self,
        threads: Relay[Request, BoltResponse],
        hurry: Hurry = nullcontext,
        *,
        most: int = 128,
    ) -> None:
        self._threads = threads
        self._hurry = hurry
        self._most = most
        self._under_way = 0
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request of Slack."""
        received = time.monotonic()
        if scope["method"] != "POST":
            await _refuse(send, 405)
        elif self._stopping or self._under_way >= self._most:
            metrics.REFUSED.inc()
            await _refuse(send, 503)
        else:
            self._under_way += 1
            try:
                await self._take(scope, receive, send, received)
            finally:
                self._under_way -= 1

    def stop(self) -> None:
        """Answers what has arrived; what comes from now on is answered 503."""
        self._stopping = True
        self._threads.stop()

    async def _take(self, scope: Scope, receive: Receive, send: Send, received: float) -> None:
        body = await _body(receive)
        if body is None:
            await _refuse(send, 413)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        arrival = Arrival(received, headers.get(_RETRY_NUMBER, "0") != "0")
        try:
            with self._hurry():
                await _send(send, await self._answer(body, headers, arrival))
        finally:
            arrival.acknowledged()

    async def _answer(self, body: bytes, headers: dict[str, str], arrival: Arrival) -> BoltResponse:
        try:
            answer = self._threads.submit(partial(_request, body, headers, arrival))
        except RuntimeError:  # it was stopped while the body was read
            return BoltResponse(status=503)
        return await asyncio.wrap_future(answer)


def _request(body: bytes, headers: dict[str, str], arrival: Arrival) -> BoltRequest:
    text = body.decode("utf-8", errors="replace")
    return BoltRequest(body=text, headers={**headers}, context={ARRIVAL: arrival})


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when it is larger than anything that Slack sends."""
    body = b""
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body"):
            return body


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
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})
