"""Connections of the server, so that one can be closed without an answer."""

import asyncio
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

Peer = tuple[str, int]


class Connections:
    """The open connections by the address of their client."""

    def __init__(self) -> None:
        self._open: dict[Peer, asyncio.Transport] = {}

    def protocol(self) -> type[H11Protocol]:
        """A protocol class for uvicorn that keeps account here."""
        connections = self._open

        class Counted(H11Protocol):
            """HTTP/1.1 whose transports can be found again."""

            @override
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
                self.peer = _peer(transport.get_extra_info("peername"))
                connections[self.peer] = transport
                super().connection_made(transport)

            @override
            def connection_lost(self, exc: Exception | None) -> None:
                connections.pop(self.peer, None)
                super().connection_lost(exc)

        return Counted

    def abort(self, client: Any) -> None:
        """Closes the connection of a client at once."""
        transport = self._open.get(_peer(client))
        if transport is not None:
            transport.abort()

    def abort_all(self) -> None:
        """Closes every connection at once."""
        for transport in list(self._open.values()):
            transport.abort()


def _peer(address: Any) -> Peer:
    return str(address[0]), int(address[1])
