"""A PostgreSQL server behind a wire that cuts connections at chosen moments."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PIECE = 65_536


@dataclass
class Wire:
    """Passes bytes to the server and back.

    Of the next `lost` commits the server's answer is lost: it commits, and the connection ends.
    `cut` ends connections before the next statements with such words reach the server.
    """

    port: int
    server: int
    lost: int = 0
    cut: list[bytes] = field(default_factory=list)
    refuses: bool = False

    def url(self, url: str) -> str:
        """The same database, by way of the wire."""
        return url.replace(f":{self.server}/", f":{self.port}/")

    def carry(self, client: socket.socket) -> None:
        """Passes on what one client sends, until an end or a cut."""
        server = socket.create_connection(("127.0.0.1", self.server))
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        with client, server, suppress(OSError):
            while piece := client.recv(_PIECE):
                if self.lost and b"COMMIT" in piece:
                    self.lost -= 1
                    _end(client, socket.SHUT_WR)
                    server.sendall(piece)
                    # The server has committed when it ends after the client's goodbye.
                    _end(server, socket.SHUT_WR)
                    back.join()
                    return
                if any(words in piece for words in self.cut):
                    self.cut.clear()
                    _end(server, socket.SHUT_RDWR)
                    return
                server.sendall(piece)


@contextmanager
def wired(url: str) -> Iterator[Wire]:
    """A wire to the server of this URL, while it lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        wire = Wire(listening.getsockname()[1], urlsplit(url).port or 0)
        threading.Thread(target=_accept, args=(listening, wire), daemon=True).start()
        yield wire


def _accept(listening: socket.socket, wire: Wire) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            if wire.refuses:
                client.close()
                continue
            threading.Thread(target=wire.carry, args=(client,), daemon=True).start()


def _copy(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while piece := server.recv(_PIECE):
            with suppress(OSError):
                client.sendall(piece)
        _end(client, socket.SHUT_RDWR)


def _end(connection: socket.socket, how: int) -> None:
    with suppress(OSError):
        connection.shutdown(how)
