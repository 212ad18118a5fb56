"""A small API server whose every answer a test writes down."""

import json
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from typing_extensions import override

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """The way back to the client."""

    def __init__(self, handler: BaseHTTPRequestHandler, closing: Event) -> None:
        self._handler = handler
        self._closing = closing

    def send(
        self, status: int, body: bytes | object, headers: Mapping[str, str] | None = None
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._handler.send_response(status)
        for name, value in (headers or {}).items():
            self._handler.send_header(name, value)
        self._handler.send_header("Content-Length", str(len(data)))
        self._handler.end_headers()
        self.raw(data)

    def begin(self) -> None:
        """Starts a body that comes in chunks."""
        self._handler.send_response(200)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def line(self, value: object) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.raw(b"0\r\n\r\n")

    def raw(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def trickle(self, size: int) -> None:
        """Sends so many bytes, one every half second, until the server closes."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Length", str(size))
        self._handler.end_headers()
        for _ in range(size):
            if self._closing.wait(0.5):
                break
            self.raw(b" ")
        self.cut()

    def cut(self) -> None:
        """Closes the connection whatever was promised."""
        self._handler.close_connection = True

    def hold(self) -> None:
        """Says nothing more until the server closes."""
        self._closing.wait(PATIENCE_SECONDS)
        self.cut()


Reply = Callable[[Asked, Wire], None]


@dataclass
class ApiServer:
    """Answers what it was told to, and remembers what it was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    replies: dict[tuple[str, str], list[Reply]] = field(default_factory=lambda: defaultdict(list))
    changed: Condition = field(default_factory=Condition)
    closing: Event = field(default_factory=Event)

    def on(self, method: str, path: str, *replies: Reply) -> None:
        """Answers in turn; the last one stays."""
        self.replies[method, path] = list(replies)

    def wait_for(self, happened: Callable[[], object], what: str) -> None:
        with self.changed:
            assert self.changed.wait_for(happened, PATIENCE_SECONDS), f"never: {what}"

    def count(self, path: str, **query: str) -> int:
        return len(self.requests(path, **query))

    def requests(self, path: str, **query: str) -> list[Asked]:
        return [
            each
            for each in list(self.asked)
            if each.path == path and query.items() <= dict(each.query).items()
        ]

    def take(self, asked: Asked) -> Reply:
        with self.changed:
            self.asked.append(asked)
            self.changed.notify_all()
            replies = self.replies.get((asked.method, asked.path))
            if not replies:
                return answer(404, b"404 page not found\n")
            return replies.pop(0) if len(replies) > 1 else replies[0]


def answer(status: int, body: bytes | object, headers: Mapping[str, str] | None = None) -> Reply:
    return lambda _, wire: wire.send(status, body, headers)


def status(code: int, reason: str, message: str, name: str = "x") -> dict[str, object]:
    """A Status as an API server sends it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "details": {"name": name},
        "code": code,
    }


def listing(
    *items: Mapping[str, object], version: str = "10", next_page: str = ""
) -> dict[str, object]:
    return {
        "kind": "List",
        "metadata": {"resourceVersion": version, "continue": next_page},
        "items": list(items),
    }


def thing(name: str, version: str = "1", **more: object) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team-a", "uid": f"uid-{name}"}
    return {"metadata": {**metadata, "resourceVersion": version, **more}}


def eventually(happened: Callable[[], object]) -> None:
    """Looks again and again, for what announces itself to nobody."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = Event()
    while not happened():
        assert time.monotonic() < deadline
        pause.wait(0.01)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[ApiServer]:
    server = ApiServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms for its head to be acknowledged

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                self.command, parts.path, dict(parse_qsl(parts.query)), dict(self.headers), body
            )
            try:
                server.take(asked)(asked, Wire(self, server.closing))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - http.server's names

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    http_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http_server.daemon_threads = True
    scheme = "http"
    if tls is not None:
        scheme = "https"
        http_server.socket = tls.wrap_socket(http_server.socket, server_side=True)
    server.url = f"{scheme}://127.0.0.1:{http_server.server_port}"
    thread = Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http_server.shutdown()
        http_server.server_close()
        thread.join()


def write_kubeconfig(path: Path, url: str, user: Mapping[str, object]) -> Path:
    """A kubeconfig for one user of one cluster."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": dict(user)}],
    }
    path.write_text(json.dumps(config))
    return path
