"""All lines of a log since a moment of which the reader wants some, with their times."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.log_stamps import moment_of, read_stamp
from bot.cluster.api.log_tail import RECORD_BYTES, lines_of

MOST_BYTES = 2048 * RECORD_BYTES
"""How much of a log is read at most."""

MOST_LINES = 100_000
"""How many wanted lines are read at most: short ones need many times their size in memory."""

_LONGEST_LINE_BYTES = 4 * RECORD_BYTES
_LATE_SECONDS = 8.0


@dataclass(frozen=True)
class LinesSince:
    """The wanted lines with their times in nanoseconds since 1970, oldest first.

    `is_cut` means that there is more than may be read; `is_full` that there may be more lines, and
    that those since the last of these are read next.
    """

    lines: list[tuple[int, str]]
    is_cut: bool = False
    is_full: bool = False


def read_since(
    connection: Connection,
    request: Request,
    since: int | None,
    is_wanted: Callable[[str], bool],
    most_bytes: int = MOST_BYTES,
) -> LinesSince:
    """The wanted lines since a time, of what is read in a few seconds; ClusterError if none can be.

    Lines of exactly that time are wanted in any case. A line whose end was not written yet is left
    out, and so is one longer than 64 KiB.
    """
    query = {**request.query, "timestamps": "true", "limitBytes": most_bytes}
    if since is not None:
        # The API server takes whole seconds.
        query["sinceTime"] = f"{moment_of(since):%Y-%m-%dT%H:%M:%SZ}"
    deadline = time.monotonic() + _LATE_SECONDS
    asked = replace(request, query=query)
    found, size, is_late = list[tuple[int, str]](), 0, False
    is_before = since is not None
    chunks = connection.chunks(asked, deadline + connection.timeouts.read)
    for size, text in _lines(chunks):  # noqa: B007 - what it was last counts
        is_late = time.monotonic() > deadline
        if is_late or len(found) >= MOST_LINES:
            break
        if not is_before and not is_wanted(text):
            continue
        stamp, line = read_stamp(text)
        is_before = is_before and (stamp is None or stamp <= (since or 0))
        if stamp is not None and (stamp == since or (not is_before and is_wanted(line))):
            found += [(stamp, shown) for shown in lines_of(f"{line}\n")]
    if len(found) >= MOST_LINES:
        return LinesSince(found, is_full=True)
    return LinesSince(found, is_late or size > most_bytes - _LONGEST_LINE_BYTES)


def _lines(chunks: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    """The whole lines that are not too long, each with the number of bytes read so far."""
    rest, size, is_long = b"", 0, False
    for chunk in chunks:
        size += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if not is_long and len(line) <= _LONGEST_LINE_BYTES:
                yield size, line.decode("utf-8", "replace")
            is_long = False
        if len(rest) > _LONGEST_LINE_BYTES:
            rest, is_long = b"", True
    yield size, ""
