"""The bot's own server: health, readiness, metrics and, where wanted, Slack's requests."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import uvicorn
from prometheus_client import generate_latest
from typing_extensions import override

from bot.errors import ConfigurationError
from bot.threads import EssentialThread

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WAITING = 2048
_OK = 200


class Condition(Protocol):
    """Returns the problem of a part of the bot, None if there is none."""

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
    """Whether the address is public: then only alive and ready are shown, without details."""


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
            return 404, b"text/plain", b"Not found.\n"
        case "/readyz":
            return _readiness(pages)
        case "/metrics":
            pages.refresh_metrics()
            return 200, b"text/plain; version=0.0.4; charset=utf-8", generate_latest()
        case "/pulse" if pages.pulse is not None:
            return 200, b"application/json", msgspec.json.encode(pages.pulse())
        case _:
            return 404, b"text/plain", b"Not found. Try /healthz, /readyz or /metrics.\n"


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


class _Beating(uvicorn.Server):
    """Counts as alive ten times a second: uvicorn's own notices stop where a clock is set back."""

    def __init__(self, config: uvicorn.Config, beat: Callable[[], None]) -> None:
        super().__init__(config)
        self._beat = beat

    @override
    async def on_tick(self, counter: int) -> bool:
        self._beat()
        return await super().on_tick(counter)


class Server:
    """Serves an ASGI application in a thread of its own, named after the setting `http.NAME`."""

    def __init__(self, app: App, listen: str, name: str = "listen") -> None:
        self._listen, self._name = listen, name
        self._config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",  # Slack's WebSocket is one that we open
            timeout_graceful_shutdown=5,
        )
        self._thread = EssentialThread(f"http-{name}", self._run)
        self._server = _Beating(self._config, self._thread.beat)
        self._socket: socket.socket | None = None
        self.threads = (self._thread,)

    def start(self) -> None:
        """Listens; ConfigurationError when the address cannot be had."""
        host, port = self._listen.rsplit(":", 1)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, int(port)), family=family, backlog=_WAITING)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot listen on {self._listen}.",
                f"Is another process using it? Set http.{self._name}.",
            ) from error
        self._thread.start()

    def stop(self) -> None:
        """Finishes the requests in progress and closes."""
        self._thread.stop()
        self._server.should_exit = True
        self._thread.join(10)
        if self._socket is not None:
            self._socket.close()

    def _run(self) -> None:
        """Serves; what broke an earlier pass has left its socket to the next."""
        self._server = _Beating(self._config, self._thread.beat)
        if self._socket is None or self._thread.stopping.is_set():
            return
        with self._socket.dup() as listening:
            self._server.run(sockets=[listening])
