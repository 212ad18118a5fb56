"""Keeps the object of each file on disk, as there may be millions."""

import contextlib
import tempfile
import threading
from collections.abc import Generator
from typing import Final

import msgspec

from bot.datasets.manifest import Entry
from bot.datasets.worker.listing import sorted_on_disk

_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(Entry)


class Pushed:
    """Objects as the store reported them when they were written or compared."""

    def __init__(self) -> None:
        self._file: Final = tempfile.TemporaryFile(prefix="quartermaster-")  # noqa: SIM115 - open until it is closed
        self._lock: Final = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Adds an object; thread-safe."""
        line = _ENCODER.encode(entry) + b"\n"
        with self._lock:
            self._file.write(line)

    def in_order(self) -> Generator[Entry, None, None]:
        """All objects in the order of their keys; none can be added afterwards."""
        self._file.seek(0)
        with contextlib.closing(sorted_on_disk(map(_DECODER.decode, self._file))) as entries:
            yield from entries

    def close(self) -> None:
        """Deletes the file."""
        self._file.close()
