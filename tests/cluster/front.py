"""A door before the API server, at which connections are cut and answers are lost."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from playground.settings import write_yaml
from tests.cluster.control_plane import ControlPlane

_PIECE = 65_536


class Front:
    """Passes requests on, one on each connection; `opened` begins and ends one.

    Of `losing`, methods and the ends of paths, each is done once without being answered.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._tls = ssl.create_default_context(cafile=plane.folder / "ca.crt")
        self._open: set[asyncio.StreamWriter] = set()
        self.losing: set[tuple[str, str]] = set()
        self.cut_count = 0

    def cut(self) -> None:
        """Cuts all connections that are open now, watches among them."""
        for writer in list(self._open):
            writer.transport.abort()
            self.cut_count += 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes on one request and its answer."""
        self._open.add(writer)
        try:
            await self._pass_on(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        fields = [line for line in head[1:] if line and not line.lower().startswith("connection:")]
        lengths = (line.split(":")[1] for line in fields if line.lower().startswith("content-len"))
        body = await reader.readexactly(int(next(lengths, "0")))
        place = urlsplit(self._plane.url)
        answer, asked = await asyncio.open_connection(place.hostname, place.port, ssl=self._tls)
        lines = "\r\n".join([head[0], *fields, "Connection: close", "", ""])
        try:
            asked.write(lines.encode("latin-1") + body)
            if self._is_lost(method, target.partition("?")[0]):
                await answer.read()
                writer.transport.abort()
                return
            while piece := await answer.read(_PIECE):
                writer.write(piece)
                await writer.drain()
        finally:
            asked.close()

    def _is_lost(self, method: str, path: str) -> bool:
        found = next((e for e in self.losing if method == e[0] and path.endswith(e[1])), None)
        if found:
            self.losing.remove(found)
        return found is not None


@contextlib.asynccontextmanager
async def opened_front(plane: ControlPlane, kubeconfig: Path) -> AsyncIterator[Front]:
    """A door that serves, and the bot's kubeconfig by way of it."""
    front = Front(plane)
    server = await asyncio.start_server(front.serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    _lead_by_way_of(port, plane, kubeconfig)
    try:
        yield front
    finally:
        server.close()
        front.cut()


def _lead_by_way_of(port: int, plane: ControlPlane, kubeconfig: Path) -> None:
    document = yaml.safe_load(plane.bot_kubeconfig.read_text("utf-8"))
    document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
    write_yaml(kubeconfig, document)
