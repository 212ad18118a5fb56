"""The workspace served over HTTP and WebSocket: the ASGI application."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from playground.slack import answers, dropping, methods_files, web_api
from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.faults import Down
from playground.slack.sockets import Socket
from playground.slack.state import State
from playground.slack.web_api import Answer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

OK = Answer({"ok": True})


class SlackApp:
    """Serves one workspace; uvicorn's own `ws_ping_interval` sends the ping frames.

    A request whose answer is to be lost, and every one while Slack refuses connections, ends
    with the connection torn down and no HTTP answer.
    """

    def __init__(self, workspace: State) -> None:
        self._state = workspace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request or connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self._state.faults.down is Down.REFUSED:
            await _abort(receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await self._state.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            return
        if self._state.faults.down is Down.UNAVAILABLE:
            await _respond(send, Answer({"ok": False, "error": "service_unavailable"}, 503))
            return
        kind, _, rest = scope["path"].lstrip("/").partition("/")
        answer = await self._answer(kind, rest, scope, body)
        if answer is None:
            await _abort(receive, send)
        else:
            await _respond(send, answer)

    async def _answer(self, kind: str, rest: str, scope: Scope, body: bytes) -> Answer | None:
        """The answer to a request, None when the connection is to close without one."""
        match kind:
            case "api":
                return await self._api(rest, scope, body)
            case "actions":
                told = _told(body)
                return await self._ledgered("response_url", told, lambda: self._act(scope, body))
            case "upload":
                return await self._ledgered("upload", rest, lambda: self._upload(rest, body))
            case dropping.FOLDER:
                return await self._ledgered(
                    "file_download", rest, lambda: self._download(rest, scope), effect=False
                )
            case _:
                return Answer({"ok": False, "error": "not_found"}, 404)

    async def _api(self, name: str, scope: Scope, body: bytes) -> Answer | None:
        headers = _headers(scope)
        try:
            args = Arguments.read(scope["query_string"], headers.get("content-type", ""), body)
        except SlackError as error:
            return Answer({"ok": False, "error": error.code})
        authorization = headers.get("authorization", "")
        return await self._ledgered(
            name,
            web_api.about(args),
            lambda: web_api.answer(self._state, name, args, authorization),
            effect=web_api.has_effect(name),
        )

    async def _ledgered(
        self, name: str, about: str, act: Callable[[], Answer], *, effect: bool = True
    ) -> Answer | None:
        """The answer to one request, or None when the connection is to close without one."""
        ledger = self._state.ledger
        request = ledger.open("slack", name, about, effect=effect)
        if await ledger.arrived(request):
            return None
        answer = act()
        if await ledger.answered(request):
            return None
        await asyncio.sleep(self._state.faults.slow_seconds.get(name, 0))
        return answer

    def _act(self, scope: Scope, body: bytes) -> Answer:
        try:
            given = self._state.response_urls.use(scope["path"])
        except SlackError as error:
            self._state.refusals.append(("response_url", error.code))
            return Answer({"ok": False, "error": error.code}, 404)
        try:
            answers.show(self._state, given, json.loads(body))
        except ValueError:
            return Answer({"ok": False, "error": "invalid_payload"}, 400)
        except SlackError as error:
            self._state.refusals.append(("response_url", error.code))
            return Answer({"ok": False, "error": error.code, **error.fields}, 400)
        return OK

    def _upload(self, path: str, body: bytes) -> Answer:
        if not methods_files.take(self._state, path, body):
            return Answer({"ok": False, "error": "file_not_found"}, 404)
        return OK

    def _download(self, path: str, scope: Scope) -> Answer:
        status, headers, content = dropping.content(self._state, path, _headers(scope))
        return Answer(content, status, headers)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        ticket = parse_qs(scope["query_string"].decode()).get("ticket", [""])[0]
        if self._state.faults.down is not None or not self._state.sockets.admit(ticket):
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})

        async def send_text(text: str) -> None:
            await send({"type": "websocket.send", "text": text})

        socket = Socket(send_text, lambda: _transport(send).abort())
        if await self._state.sockets.join(socket):
            self._state.changed()
            await self._listen(socket, receive)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _listen(self, socket: Socket, receive: Receive) -> None:
        try:
            while (message := await receive())["type"] == "websocket.receive":
                if message.get("text"):
                    self._state.sockets.acknowledged(message["text"])
        finally:
            self._state.sockets.leave(socket)
            self._state.changed()


def _headers(scope: Scope) -> dict[str, str]:
    return {key.decode().lower(): value.decode() for key, value in scope["headers"]}


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when whoever sent it is gone before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _respond(send: Send, answer: Answer) -> None:
    headers = {"content-type": "application/json; charset=utf-8", **answer.headers}
    given = answer.body
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    headers["content-length"] = str(len(body))
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def _abort(receive: Receive, send: Send) -> None:
    """Tears the connection down, and returns once the server has noticed."""
    _transport(send).abort()
    while (await receive())["type"] not in ("http.disconnect", "websocket.disconnect"):
        pass


def _transport(send: Send) -> asyncio.Transport:
    """The connection behind uvicorn's `send`, a method of the object that owns it."""
    transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]  # bound
    return transport


def _told(body: bytes) -> str:
    return body[:120].decode(errors="replace")
