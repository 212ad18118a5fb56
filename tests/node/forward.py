"""Servers of this process, which listen on loopback, at an address that pods reach."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

_CHUNK_BYTES = 65_536


@contextlib.asynccontextmanager
async def forwarded(url: str, address: str) -> AsyncIterator[str]:
    """The URL at which pods reach the server of `url` until the block ends.

    `address` is one of this machine that pods reach.
    """
    target = urlsplit(url)
    links: set[asyncio.Task[None]] = set()

    async def link(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            inner = await asyncio.open_connection(target.hostname, target.port)
            with contextlib.closing(inner[1]):
                await asyncio.gather(_copy(reader, inner[1]), _copy(inner[0], writer))

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of its own: that of a coroutine here would complain when it is cancelled.
        task = asyncio.create_task(link(reader, writer))
        links.add(task)
        task.add_done_callback(links.discard)

    server = await asyncio.start_server(accept, address, 0)
    try:
        yield f"{target.scheme}://{address}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in [*links]:
            task.cancel()
        await asyncio.gather(*links, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes on what comes until the end of the stream."""
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
