"""The Kubernetes API as one ASGI application."""

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from playground.cluster.api.access import Access, Attributes, User
from playground.cluster.api.answers import Answer, Call, failure, warned
from playground.cluster.api.connections import Connections
from playground.cluster.api.faults import Faults
from playground.cluster.api.routes import EFFECTS, Routes, wish_of
from playground.cluster.api.watching import Receive, Send, Watch
from playground.cluster.inside import Inside
from playground.cluster.objects.errors import ApiError
from playground.ledger import Ledger, Request

SERVICE = "kubernetes"


class ClusterApp:
    """Answers as an API server; requests of watched users (the bot) go through the ledger."""

    def __init__(self, inside: Inside, ledger: Ledger) -> None:
        self.inside = inside
        self.ledger = ledger
        self.access = Access(inside.store)
        self.faults = Faults()
        self.connections = Connections()
        self.bookmark_seconds = 30.0
        self.after_request: Callable[[], None] = lambda: None
        self._routes = Routes(inside, self.access)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serves one ASGI scope."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        if not await self._serve(Call.of(scope, body), receive, send):
            self.connections.abort(scope["client"])
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _serve(self, call: Call, receive: Receive, send: Send) -> bool:
        """Answers; False when the connection is to be closed without an answer."""
        try:
            user = self.access.user(call.headers.get("authorization", ""))
            attributes = wish_of(self.inside.kinds, call)
        except ApiError as error:
            await _send(send, failure(error))
            return True
        if not user.watched:
            return await self._finish(self._perform(user, attributes, call), receive, send)
        request = self._open(attributes, call)
        if self.faults.reset or await self.ledger.arrived(request):
            return False
        if self.faults.slow_seconds:
            await asyncio.sleep(self.faults.slow_seconds)
        refusal = self.faults.before(attributes.verb)
        result = failure(refusal) if refusal else self._perform(user, attributes, call)
        if lost := self.faults.after(attributes.verb):
            result = failure(lost)
        if await self.ledger.answered(request):
            if isinstance(result, Watch):
                result.close()
            return False
        return await self._finish(result, receive, send)

    async def _finish(self, result: Answer | Watch, receive: Receive, send: Send) -> bool:
        if isinstance(result, Answer):
            await _send(send, result)
            return True
        self.faults.watches.add(result)
        try:
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            await result.run(receive, send)
        finally:
            self.faults.watches.discard(result)
        if not result.is_cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        return not result.is_cut

    def _perform(self, user: User, attributes: Attributes, call: Call) -> Answer | Watch:
        with self.inside.lock:
            self.inside.loop.settle()
            self.inside.warnings.clear()
            try:
                result = warned(self._result(user, attributes, call), self.inside.warnings)
            except ApiError as error:
                result = failure(error)
            self.inside.loop.settle()
        self.after_request()
        return result

    def _result(self, user: User, attributes: Attributes, call: Call) -> Answer | Watch:
        if attributes.verb != "watch":
            return self._routes.answer(user, attributes, call)
        target = self._routes.watch_target(user, attributes, call)
        watch = Watch(self.inside, target, call, self.bookmark_seconds)
        if user.watched and self.faults.watch_is_gone():
            watch.expire(0)
            watch.end()
        return watch

    def _open(self, attributes: Attributes, call: Call) -> Request:
        about = "/".join(part for part in (attributes.namespace, attributes.name) if part)
        if attributes.verb == "create" and not attributes.name:
            about = _named_in(call, attributes.namespace)
        effect = attributes.verb in EFFECTS and not attributes.resource.startswith("selfsubject")
        return self.ledger.open(
            SERVICE,
            f"{attributes.verb} {attributes.resource or attributes.path}",
            about,
            effect=effect,
        )


def _named_in(call: Call, namespace: str) -> str:
    try:
        metadata = call.json().get("metadata") or {}
    except (ApiError, AttributeError):
        return namespace
    name = metadata.get("name") or metadata.get("generateName") or ""
    return "/".join(part for part in (namespace, name) if part)


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when whoever sent it is gone before its end."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


async def _send(send: Send, result: Answer) -> None:
    headers = [
        (b"date", formatdate(usegmt=True).encode()),
        (b"content-type", result.content_type.encode()),
        (b"content-length", str(len(result.body)).encode()),
        *((name.encode(), value.encode()) for name, value in result.headers.items()),
    ]
    await send({"type": "http.response.start", "status": result.status, "headers": headers})
    await send({"type": "http.response.body", "body": result.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
