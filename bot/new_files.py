"""Files that are written whole, and never over another one."""

import os
from contextlib import suppress
from pathlib import Path


def write_new(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Writes a file that did not exist; `mode` is cut by the umask.

    Raises FileExistsError if it exists, and OSError if it cannot be written; then nothing is left
    of it.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
