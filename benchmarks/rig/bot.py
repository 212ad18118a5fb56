"""The bot as `serve` runs it, in a playground world, and the commands that are measured."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rig import processor
from benchmarks.rig.load import Order
from benchmarks.rig.processes import RigError, Server
from playground.opening import opened
from playground.settings import Setup
from playground.world import Options, World

SETTINGS: Mapping[str, Any] = {
    "slack": {"transport": "http"},
    "teams": {
        "team-a": {"limits": {"live_runs": 1_000_000}},
        "team-b": {"limits": {"live_runs": 1_000_000}},
    },
}
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Command:
    """A command of a person, and the text of a good answer."""

    person: str
    channel: str
    command: str
    text: str
    expects: str

    def order(self, server: Server, secret: str, **how: Any) -> Order:
        """The command as an order for the load generator."""
        return Order(
            server.port,
            server.pid,
            secret,
            self.person,
            self.channel,
            self.command,
            self.text,
            self.expects,
            **how,
        )

    def unanswered(self) -> "Command":
        """The same command, given to a server that answers nothing in particular."""
        return Command(self.person, self.channel, self.command, self.text, "")


SUBMIT = Command(
    "U0BOB",
    "C0TEAMB",
    "/train",
    "submit lane-{n} --image ghcr.io/acme/lane:3.1 --gpus 8 --env BATCH_SIZE=33"
    " -- python train.py --epochs 3",
    "Submitted run `lane-",
)
LIST = Command("U0ALICE", "C0TEAMA", "/train", "list", "team-a")
SHOW = Command("U0ALICE", "C0TEAMA", "/train", "show live-0", "live-0")
WHY = Command("U0ALICE", "C0TEAMA", "/train", "why live-0", "live-0")
STATUS = Command("U0ALICE", "C0TEAMA", "/quota", "status", "GPU quota of team-a")


@contextlib.asynccontextmanager
async def serving(database_url: str = "") -> AsyncIterator[World]:
    """A world whose bot takes signed requests; all of it ends with the block.

    Its database is a file of SQLite without a URL.
    """
    async with opened_for(Setup(SETTINGS), database_url) as world:
        await world.start_bots()
        yield world


@contextlib.asynccontextmanager
async def opened_for(setup: Setup, database_url: str = "") -> AsyncIterator[World]:
    """A world in a folder of its own, whose bot does not run yet; all of it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="quartermaster-bench-") as folder:
        async with opened(Options(Path(folder), setup, database_url)) as world:
            yield world


def server_of(world: World) -> Server:
    """The bot as a server; RigError while it does not run."""
    if world.bot.pid is None:
        raise RigError(f"the bot {world.bot.state}")
    return Server(int(world.bot.url.rpartition(":")[2]), world.bot.pid)


def cpu_seconds(world: World) -> float:
    """The processor time that the bot has used since it was started."""
    return processor.cpu_seconds(server_of(world).pid)


async def caught_up(world: World) -> None:
    """Returns once no row of the bot is overdue, or after a while all the same."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while await _is_behind(world):
                await world.changes.wait(_LOOK_SECONDS)


async def _is_behind(world: World) -> bool:
    pulse = await world.bot.pulse()
    if pulse is None:
        return True
    return pulse.next_due is not None and pulse.next_due <= world.clock.now()
