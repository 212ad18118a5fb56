"""What a killed test session leaves behind, and who clears it away."""

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.api import wait_for
from tests.cluster.processes import PREFIX, Processes, clear_leftovers

# A session that starts something which would outlive it, and is killed.
_SESSION = """
import os, signal, subprocess, sys, tempfile
tempfile.tempdir = sys.argv[1]
from tests.cluster.processes import Processes
processes = Processes()
quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
own = subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet)
processes._note(own.pid)
processes.start("child", "sleep", "600")
print(processes.folder, own.pid, processes.pid("child"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def is_running(pid: int) -> bool:
    try:
        told = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return told.rpartition(")")[2].split()[0] != "Z"


def test_killed_session_is_cleared_away_by_the_next() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _SESSION, tempfile.gettempdir()],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder, left, child = done.stdout.split()
    wait_for(lambda: not is_running(int(child)), "the end of what Linux ends")
    assert is_running(int(left))
    clear_leftovers()
    wait_for(lambda: not is_running(int(left)), "the end of what was left")
    assert not Path(folder).exists()


def test_sessions_that_live_keep_what_is_theirs() -> None:
    processes = Processes()
    try:
        processes.start("child", "sleep", "600")
        clear_leftovers()
        assert processes.ended() is None
        assert processes.folder.exists()
    finally:
        processes.close()


def test_sessions_that_just_begin_are_left_alone() -> None:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        clear_leftovers()
        (folder / "pids").touch()
        clear_leftovers()
        assert [each.name for each in folder.iterdir()] == ["pids"]
    finally:
        shutil.rmtree(folder)
