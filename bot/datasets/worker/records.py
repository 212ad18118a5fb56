"""Records what a shard has copied and verified, so that a later attempt need not do it again.

The record is a file of lines that is only appended to. A line `done RANGES BYTES CHECKSUM` names
ordinals within the shard. It is trusted if the lines `syncing` and `synced` follow it, or until the
machine that wrote it reboots, as its memory may hold what the disk lacks. A line that was cut off
fails its checksum.
"""

import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FLUSHED_OBJECTS = 512


class Done:
    """A set of ordinals, one bit each, and the total size of their objects."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.bytes = 0
        self.complete = False

    def __contains__(self, ordinal: int) -> bool:
        byte = ordinal >> 3
        return byte < len(self._bits) and bool(self._bits[byte] >> (ordinal & 7) & 1)

    def add(self, first: int, last: int) -> None:
        """Adds all ordinals from first to last."""
        missing = (last >> 3) + 1 - len(self._bits)
        if missing > 0:
            self._bits.extend(bytes(missing))
        for ordinal in range(first, last + 1):
            self._bits[ordinal >> 3] |= 1 << (ordinal & 7)

    def __len__(self) -> int:
        return sum(byte.bit_count() for byte in self._bits)


def boot_id() -> str:
    """The boot id of the machine; empty if the kernel does not provide it."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read(path: Path, boot: str) -> Done:
    """What can be trusted of a record file on this machine; empty without a file."""
    done, unsure, synced, writer = Done(), list[str](), 0, ""
    for word, rest in _lines(path):
        if word == "begin":
            if rest != writer:
                unsure.clear()
            synced, writer = 0, rest
        elif word == "done":
            unsure.append(rest)
        elif word == "syncing":
            synced = len(unsure)
        elif word == "synced":
            _believe(done, unsure[:synced])
            del unsure[:synced]
            synced = 0
        else:
            done.complete = True
    if boot and writer == boot:
        _believe(done, unsure)
    return done


def _believe(done: Done, lines: list[str]) -> None:
    for line in lines:
        ranges, size = _parsed(line)
        done.bytes += size
        for first, last in ranges:
            done.add(first, last)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            for line in file:
                text, _, checksum = line.rstrip("\n").rpartition(" ")
                if text and checksum == _checksum(text):
                    word, _, rest = text.partition(" ")
                    yield word, rest
    except FileNotFoundError:
        return


def _parsed(rest: str) -> tuple[list[tuple[int, int]], int]:
    ranges, _, size = rest.partition(" ")
    pairs = (part.partition("-") for part in ranges.split(","))
    return [(int(first), int(last or first)) for first, _, last in pairs], int(size)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


class Record:
    """Writes a shard's record; any thread may add to it."""

    def __init__(self, path: Path) -> None:
        self._lock: Final = threading.Lock()
        self._ordinals: list[int] = []
        self._bytes = 0
        self._file: Final = path.open("a", encoding="ascii")
        # The line before may have been cut off.
        self._file.write("\n")
        self._write(f"begin {boot_id()}")

    def add(self, ordinal: int, size: int) -> None:
        """Adds an object that is copied and verified."""
        with self._lock:
            self._ordinals.append(ordinal)
            self._bytes += size
            if len(self._ordinals) >= _FLUSHED_OBJECTS:
                self._flush()

    def flush(self) -> None:
        """Writes what was added so far."""
        with self._lock:
            self._flush()

    def sync(self, synchronise: Callable[[], None]) -> None:
        """Makes what was added so far trusted on every machine; `synchronise` makes it durable."""
        self.flush()
        with self._lock:
            self._write("syncing")
        synchronise()
        with self._lock:
            self._write("synced")

    def complete(self) -> None:
        """Marks the shard as complete."""
        with self._lock:
            self._write("complete")

    def close(self) -> None:
        """Writes the rest."""
        self.flush()
        self._file.close()

    def _flush(self) -> None:
        if self._ordinals:
            self._write(f"done {','.join(_ranges(sorted(self._ordinals)))} {self._bytes}")
            self._ordinals, self._bytes = [], 0

    def _write(self, text: str) -> None:
        self._file.write(f"{text} {_checksum(text)}\n")
        self._file.flush()


def _ranges(ordinals: list[int]) -> Iterator[str]:
    first = last = ordinals[0]
    for ordinal in ordinals[1:]:
        if ordinal != last + 1:
            yield f"{first}-{last}" if last > first else f"{first}"
            first = ordinal
        last = ordinal
    yield f"{first}-{last}" if last > first else f"{first}"
