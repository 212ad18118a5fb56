"""A registry and cosign, built once from their Go modules and kept in the folder of caches.

`python -m tests.release.programs` builds them unless they are kept.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from tests.cluster.building import BuildError, go, keeping_place, made_once

_SOURCES = Path(__file__).parent
_NAMES = ("registry", "cosign")
_SECONDS = 60.0
_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")


def kept(name: str) -> Path:
    """The program, if it was built before from the same sources; skips the test otherwise."""
    program = _folder(name) / name
    if not program.exists():
        pytest.skip(f"{name} is not here; `make test-release` builds it")
    return program


def _folder(name: str) -> Path:
    parts = [(_SOURCES / name / file).read_bytes() for file in ("go.mod", "go.sum")]
    return keeping_place(name, *parts)


def _make(folder: Path, *, name: str) -> None:
    go("build", "-o", f"{folder}/", "-ldflags", "-s -w", "tool", source=_SOURCES / name)


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """The address of an empty registry of the distribution project, without TLS."""
    program = kept("registry")
    config = folder / "registry.yml"
    config.write_text(
        "version: 0.1\n"
        f"storage: {{filesystem: {{rootdirectory: {folder / 'registry'}}}}}\n"
        "http: {addr: '127.0.0.1:0'}\n"
    )
    log = folder / "registry.log"
    with (
        log.open("wb") as told,
        subprocess.Popen([program, "serve", str(config)], stdout=told, stderr=told) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            process.kill()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where it listens, once it says so."""
    pause, deadline = Event(), time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = _LISTENING.search(log.read_text())
        if found:
            return found.group(1)
        pause.wait(0.05)
    raise AssertionError(log.read_text())


if __name__ == "__main__":
    try:
        for each in _NAMES:
            made_once(_folder(each), partial(_make, name=each))
    except BuildError as error:
        sys.exit(str(error))
