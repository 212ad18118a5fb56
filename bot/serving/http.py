"""The bot's own server: health, readiness, metrics and, where wanted, Slack's requests."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import uvicorn
from msgspec.json import encode
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from typing_extensions import override

from bot.errors import ConfigurationError, DatabaseError
from bot.threads import EssentialThread

_WAITING = 2048
_JSON = "application/json"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


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
    slack: ASGIApp | None = None
    metrics: Callable[[], bytes] = generate_latest
    dead: Callable[[], Mapping[str, str]] = dict
    is_public: bool = False
    """Whether the address is public: then only alive and ready are shown, without details."""


def application(pages: Pages) -> Starlette:
    """An ASGI application for these pages."""

    async def liveness(_request: Request) -> Response:  # here: it needs nothing that others hold
        return _liveness(pages)

    def readiness(_request: Request) -> Response:  # in a thread: a slow database delays no others
        return _readiness(pages)

    def missing(_request: Request, _error: Exception) -> Response:
        known = "" if pages.is_public else " Try /healthz, /readyz or /metrics."
        return PlainTextResponse(f"Not found.{known}\n", 404)

    def unavailable(_request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", 503)

    routes = [Route("/healthz", liveness), Route("/readyz", readiness)]
    if pages.slack is not None:
        routes.append(Route("/slack/events", pages.slack, methods=["POST"]))
    if not pages.is_public:
        routes += _details(pages)
    return Starlette(routes=routes, exception_handlers={404: missing, DatabaseError: unavailable})


def _details(pages: Pages) -> list[Route]:
    """What only operators see."""

    def metrics(_request: Request) -> Response:
        return Response(pages.metrics(), media_type=_METRICS)

    routes = [Route("/metrics", metrics)]
    if (pulse := pages.pulse) is not None:
        routes.append(Route("/pulse", lambda _request: Response(encode(pulse()), media_type=_JSON)))
    return routes


def _liveness(pages: Pages) -> Response:
    dead = pages.dead()
    body = "".join(f"thread {name}: {trouble}\n" for name, trouble in dead.items()) or "alive\n"
    if dead and pages.is_public:
        body = "dead\n"
    return PlainTextResponse(body, 503 if dead else 200)


def _readiness(pages: Pages) -> Response:
    states = {name: condition() for name, condition in pages.ready.items()}
    is_ready = not any(states.values())
    if pages.is_public:
        body = "ready\n" if is_ready else "not ready\n"
    else:
        told = states | {name: condition() for name, condition in pages.troubles.items()}
        body = "".join(f"{name}: {state or 'ready'}\n" for name, state in told.items())
    return PlainTextResponse(body, 200 if is_ready else 503)


class _Beating(uvicorn.Server):
    """Counts as alive ten times a second: uvicorn's own notices stop where a clock is set back."""

    def __init__(self, config: uvicorn.Config, beat: Callable[[], None]) -> None:
        super().__init__(config)
        self._beat = beat

    @override
    async def on_tick(self, counter: int) -> bool:
        self._beat()
        return await super().on_tick(counter)


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError when the address cannot be had.

    What is accepted sends at once: uvicorn writes head and body of an answer apart, and the second
    would wait for the client to confirm the first, which takes it 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=_WAITING)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Server:
    """Serves an ASGI application in a thread of its own, named after the setting `http.NAME`."""

    def __init__(self, app: ASGIApp, listen: str, name: str = "listen") -> None:
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
        try:
            self._socket = listening_at(host, int(port))
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
