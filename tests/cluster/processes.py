"""Child processes that never outlive the test session, whatever becomes of it.

Linux ends them with the session's main thread. Where that failed, the next session finds their
ids in the folder that was left behind, ends them and removes it.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PREFIX, _PIDS = "quartermaster-cluster-", "pids"
_PR_SET_PDEATHSIG = 1
_STOP_SECONDS = 15.0
_LIBC: Any = ctypes.CDLL(None)


class Processes:
    """Named processes with a folder of their own for files and logs.

    They are to be started by the main thread: Linux ends them with the thread that did.
    """

    def __init__(self) -> None:
        clear_leftovers()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._note(os.getpid())

    def start(self, name: str, *command: str, environment: Mapping[str, str] | None = None) -> None:
        """Starts a program in the folder; what it says goes to NAME.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.defpath, "HOME": str(self.folder), **(environment or {})},
                process_group=0,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # it calls into libc alone
            )
        self._running[name] = process
        self._note(process.pid)

    def ended(self) -> str | None:
        """The name of a process that ended by itself and the end of its log, None when all run."""
        for name, process in self._running.items():
            if process.poll() is not None:
                return f"{name} ended with {process.returncode}:\n{self.log_tail(name)}"
        return None

    def log_tail(self, name: str, characters: int = 3000) -> str:
        """The end of a log."""
        return (self.folder / f"{name}.log").read_text("utf-8", errors="replace")[-characters:]

    def pid(self, name: str) -> int:
        """The id of a process; KeyError when it does not run."""
        return self._running[name].pid

    def stop(self, name: str) -> None:
        """Ends a process and waits for its end; one that takes too long is killed."""
        process = self._running.pop(name)
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """Kills a process (SIGKILL) and waits for its end."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        """Kills all, the last started first, and removes the folder."""
        for name in reversed(list(self._running)):
            self.kill(name)
        shutil.rmtree(self.folder)

    def _note(self, pid: int) -> None:
        with (self.folder / _PIDS).open("a") as pids:
            pids.write(f"{pid} {_started(pid)}\n")


def clear_leftovers() -> None:
    """Ends what killed sessions left running, and removes their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            noted = [line.split(" ", 1) for line in (folder / _PIDS).read_text().splitlines()]
        except FileNotFoundError:  # that session just begins, or was cleared away by another
            continue
        # The first line is the session; without one, that session just begins.
        if not noted or _lives(*noted[0]):
            continue
        for pid, started in noted[1:]:
            with suppress(ProcessLookupError):  # another session may end it at the same moment
                if _lives(pid, started):
                    os.kill(int(pid), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: str, started: str) -> bool:
    return bool(started) and _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process began, in the kernel's own count; empty when there is none."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    return told.rpartition(")")[2].split()[19]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
