"""Who may use the page: a browser on this machine that knows its address, and no other page."""

import secrets

from playground.control.web import FORBIDDEN, NOT_FOUND, refusal_of
from playground.loopback import App, Receive, Scope, Send

# Nothing is loaded from elsewhere, nothing runs that is not a file of the page.
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Gate:
    """Lets through requests below /TOKEN/ that name this machine and come from no other origin.

    The application behind it is asked for the rest of the path. Its answers get headers by which
    browsers load nothing from elsewhere.
    """

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        send = _with_headers(send)
        token, _, rest = scope["path"].removeprefix("/").partition("/")
        if (refusal := refusal_of(scope)) is not None:
            await respond(send, FORBIDDEN, f"{refusal}\n")
        elif not secrets.compare_digest(token.encode(), self._token.encode()):
            words = "The address is not complete: use the one that the playground printed.\n"
            await respond(send, NOT_FOUND, words)
        else:
            await self._app({**scope, "path": f"/{rest}"}, receive, send)


async def respond(send: Send, status: int, body: str | bytes, kind: str = "text/plain") -> None:
    """A whole answer."""
    sent = body.encode() if isinstance(body, str) else body
    typed = f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    headers = [(b"content-type", typed.encode()), (b"content-length", str(len(sent)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sent})


def _with_headers(send: Send) -> Send:
    added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

    async def sent(message: Scope) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent
