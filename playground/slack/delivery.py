"""How payloads reach the bot: through a socket, or as signed requests to its URLs."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx

from playground.loopback import PLAIN_HTTP
from playground.slack.errors import DeliveryError
from playground.slack.faults import Faults
from playground.slack.shapes import Json
from playground.slack.sockets import Sockets

RETRY_SECONDS = (0.0, 60.0, 300.0)


@dataclass(frozen=True)
class RequestUrls:
    """Where the bot takes payloads over HTTP; without these they go through sockets."""

    commands: str
    interactivity: str
    events: str


class Courier:
    """Brings payloads to the bot and its answers back."""

    def __init__(self, sockets: Sockets, faults: Faults, signing_secret: str) -> None:
        self.urls: RequestUrls | None = None
        self.on_arrival: Callable[[], None] = lambda: None
        self.retry_seconds = RETRY_SECONDS
        self.last: tuple[str, Json] | None = None  # what was delivered last: kind and payload
        self._sockets = sockets
        self._faults = faults
        self.signing_secret = signing_secret
        self._client: httpx.AsyncClient | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no event is on its way to the bot."""
        return not self._tasks

    async def interact(self, kind: str, payload: Json) -> list[Any]:
        """Delivers a command or an interaction once, or twice when doubled; returns the answers.

        Raises:
            DeliveryError: when no delivery was acknowledged in time.
        """
        self.last = kind, payload
        times = 2 if self._faults.doubled else 1
        results = await asyncio.gather(
            *(self._deliver(kind, payload) for _ in range(times)), return_exceptions=True
        )
        answers = [result for result in results if not isinstance(result, BaseException)]
        for result in results:
            if isinstance(result, BaseException) and not answers:
                raise result
        return answers

    def publish(self, payload: Json) -> None:
        """Delivers an event in the background, up to four times until it is acknowledged."""
        self.last = "events_api", payload
        task = asyncio.get_running_loop().create_task(self._persist(payload))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Gives up what is still to be retried."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.on_arrival()

    async def _persist(self, payload: Json) -> None:
        failed = await self._attempt(payload, None)
        if failed is None and self._faults.doubled:
            await self._attempt(payload, (1, "timeout"))
        for number, wait in enumerate(self.retry_seconds, start=1):
            if failed is None or str(failed) == "no_retry":
                return
            await asyncio.sleep(wait)
            failed = await self._attempt(payload, (number, str(failed)))

    async def _attempt(self, payload: Json, retry: tuple[int, str] | None) -> DeliveryError | None:
        try:
            await self._deliver("events_api", payload, retry)
        except DeliveryError as error:
            return error
        return None

    async def _deliver(self, kind: str, payload: Json, retry: tuple[int, str] | None = None) -> Any:
        if self._faults.down is not None:
            raise DeliveryError("connection_failed")
        if self.urls is None:
            return await self._sockets.deliver(kind, payload, retry)
        return await self._post(self.urls, kind, payload, retry)

    async def _post(
        self, urls: RequestUrls, kind: str, payload: Json, retry: tuple[int, str] | None
    ) -> Any:
        url, body, content_type = _request(urls, kind, payload)
        headers = {"content-type": content_type, **self.signature(body)}
        if retry is not None:
            headers |= {"x-slack-retry-num": str(retry[0]), "x-slack-retry-reason": retry[1]}
        if self._client is None:
            self._client = httpx.AsyncClient(trust_env=False, verify=PLAIN_HTTP)
        patience = self._sockets.ack_seconds
        try:
            async with asyncio.timeout(patience):
                response = await self._client.post(
                    url, content=body, headers=headers, timeout=patience
                )
        except (TimeoutError, httpx.TimeoutException):
            raise DeliveryError("http_timeout") from None
        except httpx.HTTPError:
            raise DeliveryError("connection_failed") from None
        return _answer(response)

    def signature(self, body: bytes) -> dict[str, str]:
        """The headers that prove a request comes from here, for this very second."""
        stamp = str(int(time.time()))
        signed = b"v0:" + stamp.encode() + b":" + body
        digest = hmac.new(self.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
        return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={digest}"}


def _request(urls: RequestUrls, kind: str, payload: Json) -> tuple[str, bytes, str]:
    form = "application/x-www-form-urlencoded"
    if kind == "slash_commands":
        return urls.commands, urlencode(payload).encode(), form
    if kind == "interactive":
        return urls.interactivity, urlencode({"payload": json.dumps(payload)}).encode(), form
    return urls.events, json.dumps(payload).encode(), "application/json"


def _answer(response: httpx.Response) -> Any:
    if not response.is_success:
        stop = response.headers.get("x-slack-no-retry") == "1"
        raise DeliveryError("no_retry" if stop else "http_error")
    if not response.content.strip():
        return None
    if response.headers.get("content-type", "").startswith("application/json"):
        return response.json()
    return {"text": response.text}
