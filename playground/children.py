"""Child processes that never outlive the playground, even when it is killed."""

import asyncio
import ctypes
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

_PR_SET_PDEATHSIG = 1
_LIBC: Any = ctypes.CDLL(None)
ROOT = Path(__file__).parents[1]


class Child(Protocol):
    """A process that was started."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        ...

    @property
    def returncode(self) -> int | None:
        """Its exit code, -9 after SIGKILL; None while it runs."""
        ...

    def send_signal(self, signal: int, /) -> None:
        """Sends it a signal, unless it has ended."""
        ...

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        ...

    async def wait(self) -> int:
        """Its exit code, once it ended."""
        ...


Launch = Callable[[Sequence[str], Path, Mapping[str, str], Path], Awaitable[Child]]
"""Starts the bot with arguments, in a folder, with an environment and a log to append to."""


def die_with_parent() -> None:
    """Has the calling process killed when the thread that started it ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


async def launch(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path
) -> Child:
    """Starts the bot in a Python interpreter of its own."""
    with log.open("ab") as said:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            cwd=folder,
            env=environment,
            process_group=0,
            preexec_fn=die_with_parent,
        )
