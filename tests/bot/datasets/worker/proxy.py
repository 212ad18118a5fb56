"""Stands between the worker and the store, and spoils what a test wants spoilt."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from typing_extensions import override

_PATIENCE_SECONDS = 60


@dataclass
class Exchange:
    """A request, and the answer that is sent back; None cuts the connection instead.

    `sent_bytes` cuts it in the middle of the body. `asked` are the headers of the request.
    """

    number: int
    method: str
    path: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent_bytes: int | None = None
    asked: dict[str, str] = field(default_factory=dict)

    def lose(self) -> None:
        """The answer never arrives."""
        self.status = None

    def answer(self, status: int, code: str) -> None:
        """S3's kind of error instead."""
        self.status = status
        self.body = f"<Error><Code>{code}</Code></Error>".encode()
        self.headers = {"Content-Type": "application/xml"}


Spoil = Callable[[Exchange], None]


@dataclass
class Proxy:
    """`before` may spoil a request on its way, `after` its answer; both count from zero."""

    endpoint: str
    before: Spoil
    after: Spoil
    exchanges: list[Exchange] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def leave(_exchange: Exchange) -> None:
    """Spoils nothing."""


@contextmanager
def proxied(server: str, *, before: Spoil = leave, after: Spoil = leave) -> Iterator[Proxy]:
    """A proxy to the server while the block lasts."""
    proxy = Proxy("", before, after)
    host = urlsplit(server).netloc

    class Handler(_Handler):
        target, plan = host, proxy

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    proxy.endpoint = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield proxy
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: str
    plan: Proxy

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def _forward(self) -> None:
        with self.plan.lock:
            asked = {name.lower(): value for name, value in self.headers.items()}
            count = len(self.plan.exchanges)
            exchange = Exchange(count, self.command, self.path, asked=asked)
            self.plan.exchanges.append(exchange)
        exchange.status = 0
        self.plan.before(exchange)
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if exchange.status == 0:
            self._ask(exchange, content)
            self.plan.after(exchange)
        self._answer(exchange)

    def _ask(self, exchange: Exchange, content: bytes) -> None:
        # The Host stays the proxy's, which is the one that was signed.
        connection = http.client.HTTPConnection(self.target, timeout=_PATIENCE_SECONDS)
        try:
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            exchange.status, exchange.body = answer.status, answer.read()
            exchange.headers = dict(answer.getheaders())
        finally:
            connection.close()

    def _answer(self, exchange: Exchange) -> None:
        if not exchange.status:
            self._cut()
            return
        self.send_response(exchange.status)
        kept = {"content-length", "transfer-encoding", "connection", "date", "server"}
        if self.command == "HEAD":
            kept.discard("content-length")
        for name, value in exchange.headers.items():
            if name.lower() not in kept:
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(exchange.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(exchange.body[: exchange.sent_bytes])
        if exchange.sent_bytes is not None:
            self._cut()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815  # the library's names
