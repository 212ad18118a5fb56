"""Writes the log that the bot reads: a JSON line every few seconds, and one at the end."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

import msgspec

from bot.datasets.worker.failures import WorkError

Phase = Literal["waiting", "listing", "copying", "verifying", "finishing", "removing"]

EVERY_SECONDS = 5.0


class CopyProgress:
    """Counts what is done; any thread may add to it."""

    def __init__(self, phase: Phase) -> None:
        self.phase: Phase = phase
        self.files_done = self.bytes_done = 0
        self.files_total: int | None = None
        self.bytes_total: int | None = None
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._told = (self._started, 0)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return round(time.monotonic() - self._started, 3)

    def add(self, files: int, size: int) -> None:
        """Adds files and bytes that are done."""
        with self._lock:
            self.files_done += files
            self.bytes_done += size

    def skip(self, files: int, size: int) -> None:
        """Adds files and bytes that were done before the start, which do not count for the rate."""
        with self._lock:
            self.files_done += files
            self.bytes_done += size
            self._told = (self._told[0], self._told[1] + size)

    def set(self, files: int, size: int) -> None:
        """Sets what is done, as another program does the work."""
        with self._lock:
            self.files_done, self.bytes_done = files, size
            self._told = (self._told[0], min(self._told[1], size))

    def line(self) -> dict[str, object]:
        """The current state; the rate is that since the previous line."""
        with self._lock:
            now, size = time.monotonic(), self.bytes_done
            elapsed = max(now - self._told[0], 1e-3)
            rate = (size - self._told[1]) / elapsed
            self._told = (now, size)
            return {
                "event": "progress",
                "phase": self.phase,
                "files_done": self.files_done,
                "files_total": self.files_total,
                "bytes_done": size,
                "bytes_total": self.bytes_total,
                "bytes_per_second": round(rate, 1),
                "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }


@contextmanager
def reported(progress: CopyProgress, every_seconds: float = EVERY_SECONDS) -> Iterator[None]:
    """Prints progress lines from a thread while the block runs, the first at once."""
    ended = threading.Event()

    def tell() -> None:
        say(progress.line())
        while not ended.wait(every_seconds):
            say(progress.line())

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def say_failure(error: WorkError) -> None:
    """Prints the last line of a failure."""
    say(
        {
            "event": "failed",
            "reason": error.reason,
            "message": error.message,
            "hint": error.hint,
            "keys": list(error.keys),
        }
    )


def say(line: dict[str, object]) -> None:
    """Prints one line on standard output, in one write."""
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()
