"""All that a node still has of a container's log, with a bound on what is read and held.

A node keeps a container's newest file of log, and begins a new one at 10 MiB unless its kubelet is
told otherwise. A program may write some tens of megabytes more before the kubelet looks again; of a
progress bar in them little is left once only its last states count.
"""

import re
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from bot.cluster.api.answers import sentence
from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.log_tail import RECORD_BYTES, LastLines, lines_of, text_of
from bot.errors import ClusterError

MOST_BYTES = 8_000_000
"""How much of a log is kept of what was read, in bytes of its lines."""

MOST_LINES = 200_000
MOST_READ_BYTES = 8192 * RECORD_BYTES
"""How much is read at most, to keep the end of it."""

_LONGEST_LINE_BYTES = 64 * 1024
_LONGEST_STATES_BYTES = 4096
_LATE_SECONDS = 20.0
_OVERWRITES = re.compile(rb"[\r\b]+(?=[^\r\b\n])")
_BREAK = re.compile(rb"[\r\n]")


def read_whole(
    connection: Connection, request: Request, most_read_bytes: int = MOST_READ_BYTES
) -> LastLines:
    """The lines as a terminal shows them, the newest ones where there are too many.

    Of a longer line 64 KiB are kept: the last states of one that overwrites itself, else its
    beginning. ClusterError "TooLong" when a single line is more than may be read, "Timeout" when
    it takes too long.
    """
    deadline = time.monotonic() + _LATE_SECONDS
    fitting = most_read_bytes // (RECORD_BYTES + 1)
    for tail in ({}, {"tailLines": fitting}):
        asked = replace(request, query={**request.query, **tail})
        lines = Lines(is_torn=bool(tail))
        if _takes_all(lines, connection.chunks(asked, deadline), most_read_bytes):
            found = lines.end()
            if found or not tail:
                return LastLines(found, is_cut=lines.is_cut)
    longest = f"its last line is longer than {most_read_bytes / 1e6:.0f} MB"
    raise ClusterError(sentence(request.doing, longest), reason="TooLong")


def _takes_all(lines: "Lines", chunks: Iterable[bytes], most_bytes: int) -> bool:
    """Whether the lines took all there was to read, which they do not where it is too much."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most_bytes:
            return False
        lines.take(chunk)
    return True


class Lines:
    """Takes a log in pieces, and holds its newest lines.

    Of one `is_torn`, what comes before the first end of a line, or state, is left out: it may be
    the end of a secret.
    """

    def __init__(
        self,
        most_bytes: int = MOST_BYTES,
        most_lines: int = MOST_LINES,
        *,
        is_torn: bool = False,
    ) -> None:
        self.is_cut = is_torn
        self._is_torn = is_torn
        self._most_bytes = most_bytes
        self._most_lines = most_lines
        self._kept: deque[bytes] = deque()
        self._held_bytes = 0
        self._rest = b""

    def take(self, chunk: bytes) -> None:
        """What comes next, cut anywhere."""
        if self._is_torn:
            found = _BREAK.search(chunk)
            chunk = chunk[found.end() :] if found else b""
            self._is_torn = found is None
        *whole, rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self._keep(_shortened(line) + b"\n")
        self._rest = _shortened(rest)

    def end(self) -> list[str]:
        """The lines as they are shown, with the one that goes on."""
        if self._rest:
            self._keep(self._rest)
        shown = [line for each in self._kept for line in lines_of(text_of(each))]
        self._kept.clear()
        return shown

    def _keep(self, line: bytes) -> None:
        self._kept.append(line)
        self._held_bytes += len(line)
        while self._held_bytes > self._most_bytes or len(self._kept) > self._most_lines:
            self._held_bytes -= len(self._kept.popleft())
            self.is_cut = True


def _shortened(line: bytes) -> bytes:
    """So much of a long line as is shown: its last states, or its beginning if it has none."""
    for most in (_LONGEST_STATES_BYTES, _LONGEST_LINE_BYTES):
        if len(line) <= most:
            return line
        if states := _OVERWRITES.search(line, len(line) - most):
            return line[states.start() :]
    return line[:_LONGEST_LINE_BYTES]
