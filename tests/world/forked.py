"""Bots that fork from a process which has loaded their modules: half of a start is loading them.

`tests/world/test_command_line.py` and the demo start it as people do, in an interpreter of its own.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from playground.children import ROOT, Child, die_with_parent, launch

# Not `kubernetes`: it reads KUBECONFIG when it is loaded.
_LOADED = [
    *("bot.cli", "bot.serving.serving", "bot.volumes.arm", "handlers.declared", "azure.identity"),
    *("requests_oauthlib", "uvicorn", __name__),
]


class Forked:
    """One bot, a child of the process that loaded its modules."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid or 0
        self.returncode: int | None = None
        self._ended = asyncio.get_running_loop().create_task(self._end())

    def send_signal(self, signal: int) -> None:
        """Sends a signal unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, signal)

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        if self.returncode is None:
            self._process.kill()

    async def wait(self) -> int:
        """Its exit code, once it ended."""
        return await asyncio.shield(self._ended)

    async def _end(self) -> int:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        sentinel = self._process.sentinel
        loop.add_reader(sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(sentinel)
        self._process.join()
        code = self._process.exitcode or 0
        self._process.close()
        self.returncode = code
        return code


async def forked(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path
) -> Child:
    """Starts the bot as `launch` does, in a fork."""
    # macOS allows no forks of what loaded its frameworks; a hook is loaded by an interpreter.
    if sys.platform != "linux" or environment["PYTHONPATH"] != str(ROOT):
        return await launch(arguments, folder, environment, log)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    process = context.Process(target=_run, args=(tuple(arguments), folder, dict(environment), log))
    process.start()
    return Forked(process)


def _run(arguments: Sequence[str], folder: Path, environment: dict[str, str], log: Path) -> None:
    die_with_parent()
    os.setpgid(0, 0)
    with log.open("ab") as said, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.chdir(folder)
    os.environ.clear()  # noqa: TID251  # that of the bot replaces that of the tests
    os.environ.update(environment)  # noqa: TID251  # as above
    from bot.cli import main  # noqa: PLC0415 - loaded before the fork, not by the tests

    main(list(arguments), prog_name="quartermaster")
