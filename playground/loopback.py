"""ASGI applications on loopback ports of their own, served by the running event loop."""

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn
from typing_extensions import override

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_PING_SECONDS = 2.0
# As front ends of services do (nginx: 75 s). With uvicorn's own 5 s, requests of a quiet bot would
# now and then meet the end of the connection that they take.
_KEEP_ALIVE_SECONDS = 75

PLAIN_HTTP = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of these servers: reading the certificates of the machine takes 60 ms each time."""


class _Server(uvicorn.Server):
    """Leaves signals to the world, which has a child to end first."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Loopback:
    """Servers that live as long as the world does."""

    def __init__(self) -> None:
        self._servers: list[tuple[_Server, asyncio.Task[None]]] = []

    def serve(self, app: App, port: int = 0) -> str:
        """Serves an application and returns its URL; port 0 takes any free one."""
        # asyncio switches off Nagle's delay, 40 ms an answer, only where it sees that this is TCP.
        listening = socket.socket(proto=socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
        config = uvicorn.Config(
            app,
            ws="websockets-sansio",
            ws_ping_interval=_PING_SECONDS,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = _Server(config)
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[listening]))
        self._servers.append((server, task))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    async def close(self) -> None:
        """Ends all servers; requests that still hang are cut off."""
        for server, _ in self._servers:
            server.should_exit = server.force_exit = True
        await asyncio.gather(*(task for _, task in self._servers), return_exceptions=True)


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A port that nobody else is given while the block lasts, for a server that is told its own.

    On Linux a socket that does not listen keeps it, beside one of those who set SO_REUSEADDR, as
    servers do. Elsewhere the port is only free now, as that of `free_port`.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield port


def free_port() -> int:
    """A port nobody listens on now, for a process that wants to be told its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
