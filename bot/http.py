"""The bot's own server: health, readiness, metrics and, where wanted, Slack's requests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import uvicorn
from prometheus_client import generate_latest

from bot.errors import ConfigurationError
from bot.threads import EssentialThread

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_START_SECONDS = 10.0
_LOOK_SECONDS = 0.01
_BEAT_SECONDS = 5
_OK = 200


class Condition(Protocol):
    """Says what is wrong with a part of the bot; nothing when it is well."""

    def __call__(self) -> str | None:
        """A sentence, or None."""
        ...


@dataclass(frozen=True)
class Pages:
    """What the server shows: conditions of readiness by name, and extra paths.

    `troubles` are told too, but are no reason not to be ready. `dead` says of each thread that
    does not work what is wrong with it: the process is not alive then.
    """

    ready: Mapping[str, Condition]
    troubles: Mapping[str, Condition] = field(default_factory=dict)
    pulse: Callable[[], Mapping[str, object]] | None = None
    slack: App | None = None
    refresh_metrics: Callable[[], None] = lambda: None
    dead: Callable[[], Mapping[str, str]] = dict
    is_public: bool = False
    """Whether strangers can read them: they are told no more than whether it is alive and ready."""


def application(pages: Pages) -> App:
    """An ASGI application for these pages."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/slack/events" and pages.slack is not None:
            await pages.slack(scope, receive, send)
            return
        if scope["path"] == "/healthz":  # here: it needs nothing that others may hold
            status, kind, body = _liveness(pages)
        else:  # in a thread: a slow database must not hold up what Slack sends
            status, kind, body = await asyncio.to_thread(_page, scope["path"], pages)
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def _page(path: str, pages: Pages) -> tuple[int, bytes, bytes]:
    match path:
        case "/readyz" if pages.is_public:
            status = _readiness(pages)[0]
            return status, b"text/plain", b"ready\n" if status == _OK else b"not ready\n"
        case _ if pages.is_public:
            return 404, b"text/plain", b"Nothing is here.\n"
        case "/readyz":
            return _readiness(pages)
        case "/metrics":
            pages.refresh_metrics()
            return 200, b"text/plain; version=0.0.4; charset=utf-8", generate_latest()
        case "/pulse" if pages.pulse is not None:
            return 200, b"application/json", msgspec.json.encode(pages.pulse())
        case _:
            return 404, b"text/plain", b"Nothing is here. Try /healthz, /readyz or /metrics.\n"


def _liveness(pages: Pages) -> tuple[int, bytes, bytes]:
    dead = pages.dead()
    body = "".join(f"thread {name}: {trouble}\n" for name, trouble in dead.items()) or "alive\n"
    if dead and pages.is_public:
        body = "dead\n"
    return (503 if dead else 200), b"text/plain", body.encode()


def _readiness(pages: Pages) -> tuple[int, bytes, bytes]:
    states = {name: condition() for name, condition in pages.ready.items()}
    told = states | {name: condition() for name, condition in pages.troubles.items()}
    body = "".join(f"{name}: {state or 'ready'}\n" for name, state in told.items())
    is_ready = not any(states.values())
    return (200 if is_ready else 503), b"text/plain", body.encode()


class Server:
    """Serves an ASGI application in a thread of its own, named after the setting `http.NAME`."""

    def __init__(self, app: App, listen: str, name: str = "listen") -> None:
        host, port = listen.rsplit(":", 1)
        self._listen, self._name = listen, name
        config = uvicorn.Config(
            app,
            host=host,
            port=int(port),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",  # Slack's WebSocket is one that we open
            timeout_graceful_shutdown=5,
            callback_notify=self._beat,
            timeout_notify=_BEAT_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = EssentialThread(f"http-{name}", self._run)
        self.threads = (self._thread,)

    def start(self) -> None:
        """Listens; ConfigurationError when the address cannot be had."""
        self._thread.start()
        for _ in range(round(_START_SECONDS / _LOOK_SECONDS)):
            if self._server.started or not self._thread.is_alive:
                break
            self._thread.join(_LOOK_SECONDS)
        if not self._server.started:
            raise ConfigurationError(
                f"Cannot listen on {self._listen}.",
                f"Is another process there? Set http.{self._name}.",
            )

    def stop(self) -> None:
        """Finishes the requests under way and closes."""
        self._thread.stop()
        self._server.should_exit = True
        self._thread.join(10)

    def _run(self) -> None:
        self._server.run()

    async def _beat(self) -> None:
        self._thread.beat()
