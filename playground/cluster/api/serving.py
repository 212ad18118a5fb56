"""The API on a loopback port."""

import asyncio
import socket
from pathlib import Path

import uvicorn
from uvicorn.server import ServerState

from playground.cluster.api.app import ClusterApp

LOOPBACK = "127.0.0.1"


class Server:
    """Serves the API in the running event loop.

    It uses uvicorn's protocol without its server: that one takes a tenth of a second to stop
    and cannot stop listening for a while.
    """

    def __init__(self, app: ClusterApp, port: int = 0) -> None:
        self.app = app
        self.port = port
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        config.load()
        config.timeout_keep_alive = 60
        self._config = config
        self._state = ServerState()
        self._protocol = app.connections.protocol()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where the API is."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def is_listening(self) -> bool:
        """Whether it accepts connections."""
        return self._server is not None and self._server.is_serving()

    async def listen(self) -> None:
        """Accepts connections; the port stays the same when it listens again."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, sock=self._bound())
        self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """Closes all connections and refuses new ones."""
        self.app.faults.cut_watches()
        if self._server is not None:
            self._server.close()
        self.app.connections.abort_all()

    async def stop(self) -> None:
        """Stops serving."""
        self.refuse()
        await asyncio.gather(*self._state.tasks, return_exceptions=True)

    def _connection(self) -> asyncio.Protocol:
        return self._protocol(self._config, self._state, {})

    def _bound(self) -> socket.socket:
        # The protocol is named, because asyncio switches Nagle's algorithm off only then;
        # with it on, answers wait 40 ms for an acknowledgement.
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((LOOPBACK, self.port))
        return bound


def write_kubeconfig(path: Path, url: str, token: str, namespace: str = "default") -> None:
    """Writes a kubeconfig with a bearer token for one user."""
    text = f"""\
apiVersion: v1
kind: Config
current-context: playground
clusters:
- name: playground
  cluster: {{server: "{url}"}}
users:
- name: playground
  user: {{token: "{token}"}}
contexts:
- name: playground
  context: {{cluster: playground, user: playground, namespace: "{namespace}"}}
"""
    path.write_text(text)
    path.chmod(0o600)
