"""What the bot is compared with: `python -m benchmarks.rig.reference KIND SECRET [DATABASE]`.

KIND is `floor` (no framework and no work, the load generator's own limit), `bare` (Bolt that
acknowledges at once), `durable` (Bolt that commits one INSERT before) or `answering` (Bolt that
acknowledges, and responds with a table of 40 rows that is always the same). DATABASE is a file of
SQLite or the URL of a PostgreSQL database. It prints its port.
"""

import asyncio
import itertools
import os
import socket
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import uvicorn
from slack_bolt import Ack, App, BoltRequest, Respond
from slack_bolt.authorization import AuthorizeResult
from typing_extensions import override

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Body = dict[str, Any]

_THREADS = 16
_ARGUMENTS = 3
_POSTGRESQL = "postgresql:"
_TABLE_OF_ROWS = "CREATE TABLE commands (trigger TEXT PRIMARY KEY, text TEXT)"
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_COMMANDS = ("/train", "/quota")
_RESPONDING = 8
_CELL = {"type": "raw_text", "text": "running for 3 h"}
_TABLE = {"type": "data_table", "caption": "Runs", "rows": [[_CELL] * 6] * 41}


class Threaded:
    """Bolt behind ASGI, its work in threads: the same way the bot's own server goes."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        loop = asyncio.get_running_loop()
        request = BoltRequest(body=body.decode(), headers={**headers})
        answer = await loop.run_in_executor(self._threads, self._app.dispatch, request)
        kept = [(k.encode(), v.encode()) for k, values in answer.headers.items() for v in values]
        await send({"type": "http.response.start", "status": answer.status, "headers": kept})
        await send({"type": "http.response.body", "body": answer.body.encode()})


class Rows:
    """A SQLite file that keeps each command, committed to the disk, one writer at a time."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(_TABLE_OF_ROWS)
        self._numbers = itertools.count()

    def keep(self, body: Body) -> None:
        """Commits a command."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            trigger = f"{body['trigger_id']}.{next(self._numbers)}"
            row = (trigger, body["text"])
            self._connection.execute("INSERT INTO commands VALUES (?, ?)", row)
            self._connection.execute("COMMIT")


class ServerRows:
    """A PostgreSQL database that keeps each command; each thread has a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._of_thread = threading.local()
        self._numbers = itertools.count()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_TABLE_OF_ROWS)

    def keep(self, body: Body) -> None:
        """Commits a command."""
        if not hasattr(self._of_thread, "connection"):
            self._of_thread.connection = psycopg.connect(self._url, autocommit=True)
        trigger = f"{body['trigger_id']}.{next(self._numbers)}"
        connection: psycopg.Connection = self._of_thread.connection
        connection.execute("INSERT INTO commands VALUES (%s, %s)", (trigger, body["text"]))


class Floor(asyncio.Protocol):
    """Answers each request with an empty 200; it expects one request in one piece."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        if isinstance(self._transport, asyncio.Transport):
            self._transport.write(_ANSWER)


def bolt(secret: str, keep: Callable[[Body], None]) -> Threaded:
    """A Bolt app that keeps a command and acknowledges it."""
    app = App(
        signing_secret=secret,
        authorize=_authorize,
        process_before_response=True,
    )

    def command(body: Body, ack: Ack) -> None:
        keep(body)
        ack()

    for name in _COMMANDS:
        app.command(name)(command)
    return Threaded(app)


def answering(secret: str) -> Threaded:
    """A Bolt app that acknowledges a command and then responds with a table."""
    app = App(signing_secret=secret, authorize=_authorize, process_before_response=True)
    threads = ThreadPoolExecutor(_RESPONDING)

    def command(ack: Ack, respond: Respond) -> None:
        ack()
        threads.submit(respond, text="40 runs", blocks=[_TABLE])

    for name in _COMMANDS:
        app.command(name)(command)
    return Threaded(app)


def _authorize(team_id: str | None, enterprise_id: str | None) -> AuthorizeResult:
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id)


def _rows(database: str) -> Rows | ServerRows:
    return ServerRows(database) if database.startswith(_POSTGRESQL) else Rows(database)


def _forget(_body: Body) -> None:
    pass


async def _serve_floor(listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Floor, sock=listening)
    await server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.read()  # nothing is ever said; it ends when the parent does
    os._exit(0)


def main() -> None:
    """Serves until it is killed, or its parent has ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kind, secret = sys.argv[1:_ARGUMENTS]
    # asyncio switches Nagle's delay off only where it sees that this is TCP.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    print(listening.getsockname()[1], flush=True)
    if kind == "floor":
        asyncio.run(_serve_floor(listening))
        return
    keep = _rows(sys.argv[_ARGUMENTS]).keep if kind == "durable" else _forget
    app = answering(secret) if kind == "answering" else bolt(secret, keep)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
