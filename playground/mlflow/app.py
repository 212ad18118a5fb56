"""MLflow's REST API as an ASGI application; what answers a request is given to it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from playground.ledger import Ledger
from playground.loopback import Receive, Scope, Send

API = "/api/2.0/mlflow/"
SERVICE = "mlflow"
_EFFECTS = frozenset({"experiments/create", "runs/create", "runs/log-batch", "runs/update"})

Answer = tuple[int, Mapping[str, Any]]
Answering = Callable[[str, str, Mapping[str, Any]], Answer]
"""Method, operation (`runs/create`) and what is asked; returns status and body."""


class MlflowApp:
    """Serves one tracking server, whose requests the ledger numbers.

    While it `is_away` it answers as a gateway whose server is down. With a `token` it takes only
    requests that bear it.
    """

    def __init__(self, answering: Answering, ledger: Ledger) -> None:
        self._answering = answering
        self._ledger = ledger
        self.is_away = False
        self.token = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        content = await _body(receive)
        operation = str(scope["path"]).removeprefix(API)
        request = self._ledger.open(
            SERVICE, f"mlflow {operation}", "", effect=operation in _EFFECTS
        )
        if await self._ledger.arrived(request):
            await _hang_up(receive, send)
            return
        status, body = await asyncio.to_thread(self._answer, scope, operation, content)
        if await self._ledger.answered(request):
            await _hang_up(receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    def _answer(self, scope: Scope, operation: str, content: bytes) -> Answer:
        headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
        if self.is_away:
            return 503, {}
        if not str(scope["path"]).startswith(API):
            return 404, {}
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            return 401, {}
        query = dict(parse_qsl(scope["query_string"].decode()))
        asked = json.loads(content) if content else query
        return self._answering(scope["method"], operation, asked)


async def _body(receive: Receive) -> bytes:
    content, more = b"", True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = bool(message.get("more_body"))
    return content


async def _hang_up(receive: Receive, send: Send) -> None:
    """Tears the connection down without an answer."""
    transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]  # uvicorn's
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
