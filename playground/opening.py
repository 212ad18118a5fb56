"""A context manager that opens a world and always closes it."""

import contextlib
from collections.abc import AsyncIterator

from playground.control.api import Control
from playground.world import Options, World


@contextlib.asynccontextmanager
async def opened(options: Options) -> AsyncIterator[World]:
    """A world that is served, with no bot running yet; everything ends with the block."""
    world = World(options)
    try:
        await world.serve(Control(world).app)
        yield world
    finally:
        await world.close()
