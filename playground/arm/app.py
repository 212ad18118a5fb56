"""Resource Manager and the identity service as one ASGI application."""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playground.arm.errors import ArmError
from playground.arm.estate import Estate
from playground.arm.routes import Routes
from playground.arm.wire import Answer, Call
from playground.ledger import Ledger
from playground.loopback import Receive, Scope, Send

SERVICE = "arm"
IDENTITY = "/identity/token"
_EFFECTS = frozenset({"PUT", "PATCH", "POST", "DELETE"})
_LIFE = timedelta(hours=24)
_TICK_SECONDS = 0.02


def _real_now() -> datetime:
    return datetime.now(UTC)


class ArmApp:
    """Serves the subscriptions of a tenant.

    `too_many` requests are answered with 429, `unavailable` with 500, `conflicts` changes with
    409, those about subscriptions in `silent` not at all meanwhile; whoever asks for a token shows
    `identity_header`, as the platform's own identities do.
    """

    def __init__(self, ledger: Ledger, now: Callable[[], datetime] = _real_now) -> None:
        self.estate = Estate()
        self.routes = Routes(self.estate, now)
        self.ledger = ledger
        self.identity_header = secrets.token_hex(16)
        self.too_many = self.unavailable = self.conflicts = 0
        self.retry_after_seconds = 1
        self.silent: set[str] = set()
        self._tokens: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        content = await _body(receive)
        if content is None:
            return
        call = Call.of(scope, content)
        if call.path == IDENTITY:
            await _respond(send, self._token(call))
            return
        effect = call.method in _EFFECTS
        about = "/".join(call.parts[-3:] if effect else call.parts[-2:])
        request = self.ledger.open(SERVICE, _name(call), about, effect=effect)
        if await self.ledger.arrived(request):
            await _hang_up(receive, send)
            return
        if await self._given_up(call, receive):
            return
        answer = self._answer(call)
        if await self.ledger.answered(request):
            await _hang_up(receive, send)
            return
        await _respond(send, answer)

    def revoke_tokens(self) -> None:
        """Makes all tokens invalid that were given out."""
        self._tokens.clear()

    async def _given_up(self, call: Call, receive: Receive) -> bool:
        """Whether the caller hung up while the subscription was silent."""
        while call.subscription in self.silent:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(receive(), _TICK_SECONDS)
                return True  # the body was read, so this is the end of the connection
        return False

    def _answer(self, call: Call) -> Answer:
        try:
            self._refuse_stranger(call)
            self._refuse_on_purpose(call)
            return self.routes.answer(call)
        except ArmError as error:
            body = {"error": {"code": error.code, "message": error.message}}
            return Answer(error.status, body, error.headers)

    def _refuse_stranger(self, call: Call) -> None:
        word, _, token = call.headers.get("authorization", "").partition(" ")
        if word != "Bearer" or token not in self._tokens:
            words = "The access token is invalid." if token else "The request has no bearer token."
            asked = {"www-authenticate": 'Bearer authorization_uri="http://127.0.0.1/"'}
            raise ArmError(401, "InvalidAuthenticationToken", words, asked)

    def _refuse_on_purpose(self, call: Call) -> None:
        if self.too_many > 0:
            self.too_many -= 1
            headers = {"retry-after": str(self.retry_after_seconds)}
            raise ArmError(429, "TooManyRequests", "The request is being throttled.", headers)
        if self.unavailable > 0:
            self.unavailable -= 1
            words = "The server encountered an internal error. Please retry the request."
            raise ArmError(500, "InternalServerError", words)
        if self.conflicts > 0 and call.method in _EFFECTS:
            self.conflicts -= 1
            words = "Another operation is in progress on the resource. Retry later."
            raise ArmError(409, "Conflict", words)

    def _token(self, call: Call) -> Answer:
        """A token for whoever knows the header of the platform, as App Service gives them out."""
        if call.headers.get("x-identity-header") != self.identity_header:
            return Answer(401, {"statusCode": 401, "message": "Unauthorized"})
        token = secrets.token_hex(16)
        self._tokens.add(token)
        expires = int((_real_now() + _LIFE).timestamp())
        told = {"access_token": token, "expires_on": str(expires), "token_type": "Bearer"}
        return Answer(200, {**told, "resource": call.query.get("resource", "")})


def _name(call: Call) -> str:
    """What the ledger calls a request: `GET volumes`, `POST poolChange`."""
    parts = call.parts
    is_list_or_verb = len(parts) % 2 == 1 and "operationResults" not in parts
    kind = parts[-1] if is_list_or_verb or len(parts) < 2 else parts[-2]  # noqa: PLR2004 - kind and name
    return f"{call.method} {kind}"


async def _body(receive: Receive) -> bytes | None:
    content = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        content += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return content


async def _respond(send: Send, answer: Answer) -> None:
    body = b"" if answer.body is None else json.dumps(answer.body).encode()
    headers: list[tuple[bytes, bytes]] = [(b"content-length", str(len(body)).encode())]
    if body:
        headers.append((b"content-type", b"application/json; charset=utf-8"))
    headers += [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _hang_up(receive: Receive, send: Send) -> None:
    """Tears the connection down without an answer."""
    transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]  # uvicorn's
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
