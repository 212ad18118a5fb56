"""Files that are written whole: never over another one, and never by half."""

import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.new_files import write_new


def test_a_file_is_new_and_private_if_wanted(tmp_path: Path) -> None:
    path = tmp_path / "made"
    write_new(path, b"first", 0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"first", 0o600)
    with pytest.raises(FileExistsError):
        write_new(path, b"second")
    assert path.read_bytes() == b"first"


def test_nothing_is_left_where_there_is_no_room(tmp_path: Path) -> None:
    path = tmp_path / "made"
    program = f"""\
import resource, signal
from pathlib import Path
from bot.new_files import write_new
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
write_new(Path({str(path)!r}), b"x" * 2000)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert not path.exists()
