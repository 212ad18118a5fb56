"""Bots and commands that fork from a process which has loaded their modules: most of a start.

`tests/world/test_command_line.py` and the demo start it as people do, in an interpreter of its own.
"""

import asyncio
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory

from playground.children import ROOT, Child, die_with_parent, launch

Files = tuple[Path, Path, Path]
"""What a command reads, and where it writes what it prints and what it says of errors."""

# macOS allows no forks of what loaded its frameworks; a hook is loaded by an interpreter.
_IS_HERE = sys.platform == "linux"
_COMMAND_SECONDS = 200.0
# Not `kubernetes`: it reads KUBECONFIG when it is loaded.
_LOADED = [
    *("bot.cli", "bot.serving.serving", "bot.volumes.arm", "handlers.declared", "azure.identity"),
    *("bot.datasets.worker.command", "boto3", "requests_oauthlib", "uvicorn", __name__),
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
    if not _IS_HERE or environment["PYTHONPATH"] != str(ROOT):
        return await launch(arguments, folder, environment, log)
    files = Path(os.devnull), log, log
    process = _begin(tuple(arguments), folder, dict(environment), files)
    return Forked(process)


def finished(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], typed: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the command line in a folder to its end."""
    environment = {**environment, "PYTHONPATH": str(ROOT)}
    if not _IS_HERE:
        return subprocess.run(
            [sys.executable, "-m", "bot", *arguments],
            cwd=folder,
            env=environment,
            input=typed,
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    with TemporaryDirectory() as own:
        given, printed, complained = (Path(own) / each for each in ("in", "out", "err"))
        given.write_bytes(typed)
        files = given, printed, complained
        process = _begin(tuple(arguments), folder, environment, files)
        process.join(_COMMAND_SECONDS)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{arguments} did not end in {_COMMAND_SECONDS:g} s")
        return subprocess.CompletedProcess(
            arguments, code, printed.read_bytes(), complained.read_bytes()
        )


def _begin(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str], files: Files
) -> ForkServerProcess:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    process = context.Process(target=_run, args=(arguments, folder, environment, files))
    process.start()
    return process


def _run(arguments: Sequence[str], folder: Path, environment: dict[str, str], files: Files) -> None:
    die_with_parent()
    os.setpgid(0, 0)
    for number, (file, mode) in enumerate(zip(files, ("rb", "ab", "ab"), strict=True)):
        with file.open(mode) as opened:
            os.dup2(opened.fileno(), number)
    sys.stdin = os.fdopen(0, closefd=False)  # the one that was inherited is closed
    os.chdir(folder)
    os.environ.clear()  # noqa: TID251  # that of the bot replaces that of the tests
    os.environ.update(environment)  # noqa: TID251  # as above
    from bot.cli import main  # noqa: PLC0415 - loaded before the fork, not by the tests

    main(list(arguments), prog_name="quartermaster")
