"""The processes beside the world and the bot: load generators and reference servers."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.rig.load import Order, Outcome

_ROOT = Path(__file__).parents[2]


class RigError(Exception):
    """A measurement that did not come about, so that nothing can be said."""


@dataclass(frozen=True)
class Server:
    """A process that answers, and where."""

    port: int
    pid: int


async def load(order: Order) -> Outcome:
    """Carries an order out in a process of its own."""
    process = await _start("benchmarks.rig.load")
    told, _ = await process.communicate(json.dumps(asdict(order)).encode())
    if process.returncode:
        raise RigError(f"the load generator ended with {process.returncode}: {order.text}")
    outcome = Outcome(**json.loads(told))
    for answer in outcome.bad_answers:
        print(f"unexpected answer to {order.text!r}: {answer}", file=sys.stderr)
    return outcome


async def listed(kind: str, kubeconfig: Path) -> tuple[int, float]:
    """How many pods a process of its own listed, and its processor seconds; see `reading`."""
    process = await _start("benchmarks.rig.reading", kind, str(kubeconfig))
    told, _ = await process.communicate()
    if process.returncode:
        raise RigError(f"the list ended with {process.returncode}: {kind}")
    said = json.loads(told)
    return said["count"], said["cpu_seconds"]


@contextlib.asynccontextmanager
async def reference(kind: str, secret: str, database: str) -> AsyncIterator[Server]:
    """A reference server while the block lasts; `database` is a file or a URL."""
    process = await _start("benchmarks.rig.reference", kind, secret, database)
    try:
        if process.stdout is None:
            raise RigError("the reference server printed nothing")
        yield Server(int(await process.stdout.readline()), process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _start(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE, cwd=_ROOT
    )
