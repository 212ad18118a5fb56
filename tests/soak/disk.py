"""A small file system for the database, which can be full."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_ROOMY = "2g"
_PAGE = 4096


class Disk:
    """A file system in memory; full, it is as large as what is on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Leaves not a page."""
        self._resize(str(shutil.disk_usage(self.folder).used))
        ballast = self.folder / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(_PAGE)):
                pass

    def free(self) -> None:
        """Leaves plenty of room again."""
        self._resize(_ROOMY)
        (self.folder / "ballast").unlink(missing_ok=True)

    def _resize(self, size: str) -> None:
        options = f"remount,size={size}"
        subprocess.run(["mount", "-o", options, str(self.folder)], check=True)  # noqa: S607


@contextlib.contextmanager
def mounted(folder: Path) -> Iterator[Disk | None]:
    """The disk while the block lasts; None where none can be mounted, which takes root."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_ROOMY}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607
