"""A registry and cosign, built once from their Go modules and kept in the folder of caches.

`python -m tests.release.programs` builds them unless they are kept.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.building import BuildError, go, keeping_place, made_once

_SOURCES = Path(__file__).parent
_NAMES = ("registry", "cosign")
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
    process = subprocess.Popen(
        [program, "serve", str(config)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            yield _address(process)
        finally:
            process.kill()


def _address(process: "subprocess.Popen[str]") -> str:
    said = []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        found = _LISTENING.search(line)
        if found:
            return found.group(1)
    raise AssertionError("".join(said))


if __name__ == "__main__":
    try:
        for each in _NAMES:
            made_once(_folder(each), partial(_make, name=each))
    except BuildError as error:
        sys.exit(str(error))
