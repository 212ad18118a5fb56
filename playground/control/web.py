"""As much HTTP as the world's own pages need: a JSON request in, a JSON response out."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from playground.loopback import App, Receive, Scope, Send

OK, BAD_REQUEST, FORBIDDEN, NOT_FOUND, CONFLICT = 200, 400, 403, 404, 409
_HERE = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Request:
    """One request: method, path, query and JSON body (an empty one is {})."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """One response; a text is sent as it is, anything else as JSON."""

    body: Any
    status: int = OK
    kind: str = "text/plain"  # of a text


class WebError(Exception):
    """A request that cannot be answered: what is wrong with it, and what would be right."""

    def __init__(self, message: str, status: int = BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


def application(answer: Callable[[Request], Awaitable[Response]]) -> App:
    """An ASGI application whose every request goes to `answer`, if it comes from this machine."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await answer(await _read(scope, receive))
        except WebError as error:
            response = Response({"error": str(error)}, error.status)
        plain = isinstance(response.body, str)
        body = (
            response.body
            if plain
            else json.dumps(response.body, indent=1, ensure_ascii=False) + "\n"
        )
        kind = response.kind if plain else "application/json"
        headers = [(b"content-type", f"{kind}; charset=utf-8".encode())]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})

    return app


def refusal_of(scope: Scope) -> str | None:
    """Why a request is refused, by its headers; a rebound name shows in Host, a page in Origin."""
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    host = headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in _HERE:
        return "Only this machine may ask: use the address with 127.0.0.1."
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return "Another page may not ask."
    return None


async def _read(scope: Scope, receive: Receive) -> Request:
    if (refusal := refusal_of(scope)) is not None:
        raise WebError(refusal, FORBIDDEN)
    raw = b""
    more = True
    while more:
        message = await receive()
        raw += message.get("body", b"")
        more = bool(message.get("more_body"))
    try:
        body = json.loads(raw or b"{}")
    except ValueError as error:
        raise WebError(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise WebError("the body must be a JSON object")
    query = dict(parse_qsl(scope["query_string"].decode()))
    return Request(scope["method"], unquote(scope["path"]), query, body)
