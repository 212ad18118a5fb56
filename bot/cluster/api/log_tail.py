"""The end of a container's log, for lines of any length.

A kubelet counts `limitBytes` from the start of the tail, so that it would cut the newest lines
away. What it calls a line is an entry of the container runtime's file: 16 KiB at most, and a
progress bar that never ends its line has hundreds of them.
"""

import codecs
import re
import time
from collections import deque
from dataclasses import dataclass, field, replace

from bot.cluster.api.answers import sentence
from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.log_stamps import STAMP_BYTES, split_stamps, without_stamp
from bot.errors import ClusterError

RECORD_BYTES = 16 * 1024
READ_BYTES = 64 * RECORD_BYTES
# For a log that is read once, not with every look.
WHOLE_BYTES = 1024 * RECORD_BYTES
KEPT_BYTES = 16 * RECORD_BYTES
SHOWN_BYTES = 64 * RECORD_BYTES
_BEGIN_BYTES = 1024
_BREAK = re.compile(rb"[\r\n]\s*(?=\S)")
_GAP = re.compile(rb"\s+(?=\S)")
_UNSEEN = re.compile(
    r"\x1b\[[0-9;:?]*[ -/]*(?:[@-~]|\Z)"  # colours, and where the cursor goes
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # links and titles
    r"|\x1b."
    r"|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]"
)
_OVERWRITES = re.compile(r"[\r\b]+")
# A kubelet answers this as the log, with status 200, once the runtime has removed the container.
_REMOVED = re.compile(r"unable to retrieve container logs for [a-z0-9-]+://[0-9a-f]+")


@dataclass(frozen=True)
class Limits:
    """How much is read at most to find the last lines, and how much of that they may have.

    With `asks_again` it takes a second question where only that tells whether the log begins with
    the first line; else a line that may have lost its beginning is left out. With `stamps` the
    time of each line is read too; what that takes does not count.
    """

    read_bytes: int = READ_BYTES
    kept_bytes: int = KEPT_BYTES
    asks_again: bool = False
    stamps: bool = False


@dataclass(frozen=True)
class LastLines:
    """The last lines of a log; `is_cut` when there are fewer than asked for, and more to be had.

    `stamps` are the times of the lines in nanoseconds since 1970, if they were asked for; None for
    one whose time is unknown. A line that `is_open` was read before its end was written.
    """

    lines: list[str]
    is_cut: bool = False
    stamps: list[int | None] = field(default_factory=list)
    is_open: bool = False


@dataclass(frozen=True)
class _Tail:
    text: bytes
    is_whole: bool
    size: int
    lines: int


def read_tail(
    connection: Connection, request: Request, tail_lines: int, limits: Limits
) -> LastLines:
    """The last lines, within the limits; fewer of them where they are that long.

    ClusterError "TooLong" when a single one is longer, "Timeout" when it all takes too long.
    """
    deadline = time.monotonic() + connection.timeouts.read
    if limits.stamps:
        request = replace(request, query={**request.query, "timestamps": "true"})
        more = (tail_lines + 1) * STAMP_BYTES
        limits = replace(
            limits, read_bytes=limits.read_bytes + more, kept_bytes=limits.kept_bytes + more
        )
    # One more than wanted, as the first may be the end of a longer one.
    wanted, fitting = tail_lines + 1, limits.read_bytes // (RECORD_BYTES + 1)
    for count in sorted({wanted, min(wanted, fitting), 1}, reverse=True):
        asked = replace(request, query={**request.query, "tailLines": count})
        tail = _read(connection, asked, limits, deadline)
        if tail.is_whole:
            text = _untorn(tail, count, has_stamps=limits.stamps)
            is_unsure = limits.asks_again and tail.lines < count and text != tail.text
            if is_unsure and _is_all(connection, request, tail, deadline):
                text = tail.text
            found = _lines(text, tail_lines, has_stamps=limits.stamps)
            has_more = count < wanted or len(text) < tail.size
            if found.lines or not tail.text.strip():
                return replace(found, is_cut=has_more and len(found.lines) < tail_lines)
            longest = "its last line is too long and has no whitespace at which it could be cut"
            break
    else:
        longest = f"its last line is longer than {limits.read_bytes / 1e6:.0f} MB"
    raise ClusterError(sentence(request.doing, longest), reason="TooLong")


def refuse_removed(request: Request, found: LastLines) -> None:
    """ClusterError "NotFound" where a kubelet says, in place of the log, that it has none."""
    if len(found.lines) == 1 and _REMOVED.fullmatch(found.lines[0]):
        raise ClusterError(sentence(request.doing, "its node no longer has it"), reason="NotFound")


def text_of(log: bytes) -> str:
    """What stands in these bytes; of a line that goes on, no character that is there in part."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(log)


def lines_of(text: str) -> list[str]:
    """The lines as a terminal shows them: of states that overwrite each other the last one."""
    *whole, rest = text.split("\n")
    lines = [next(reversed(_states(line)), "") for line in whole]
    if not rest:
        return lines
    *before, last = ["", *_states(rest)]
    # Of a line that goes on, the last state may have been written in part only.
    is_torn = bool(before) and len(last) < len(before[-1])
    return [*lines, before[-1] if is_torn else last]


def _lines(text: bytes, most: int, *, has_stamps: bool) -> LastLines:
    """The last lines of a text, with their times if it has them."""
    said = text_of(text)
    bare, stamps = split_stamps(said) if has_stamps else (said, [])
    lines = lines_of(bare)
    return LastLines(
        lines[-most:],
        stamps=stamps[: len(lines)][-most:],
        is_open=has_stamps and not said.endswith("\n"),
    )


def _states(line: str) -> list[str]:
    """What stood in one line one after the other."""
    states = _OVERWRITES.split(_UNSEEN.sub("", line))
    return [state.rstrip() for state in states if state.strip()]


def _read(connection: Connection, request: Request, limits: Limits, deadline: float) -> _Tail:
    """What it says last; it is not whole when there was more to read than the limits allow."""
    most, keep = limits.read_bytes, limits.kept_bytes
    kept: deque[bytes] = deque()
    size = held = lines = 0
    for chunk in connection.chunks(request, deadline):
        kept.append(chunk)
        size, held, lines = size + len(chunk), held + len(chunk), lines + chunk.count(b"\n")
        while held - len(kept[0]) >= keep:
            held -= len(kept.popleft())
        if size > most:
            break
    return _Tail(b"".join(kept)[-keep:], size <= most, size, lines)


def _is_all(connection: Connection, request: Request, tail: _Tail, deadline: float) -> bool:
    """Whether what was read begins as the log itself does."""
    if tail.size > len(tail.text):
        return False
    asked = replace(request, query={**request.query, "limitBytes": _BEGIN_BYTES})
    return tail.text.startswith(b"".join(connection.chunks(asked, deadline)) or b"\0")


def _untorn(tail: _Tail, asked: int, *, has_stamps: bool) -> bytes:
    """Without the first line, or word, where that may lack its beginning: it may be a secret's."""
    has_parts = tail.lines < asked and tail.size >= RECORD_BYTES
    if not has_parts and tail.lines < asked:
        return tail.text
    # A time stands before the torn part of a line, too.
    begin = len(tail.text) - len(without_stamp(tail.text)) if has_stamps else 0
    found = _BREAK.search(tail.text, begin) or _GAP.search(tail.text, begin)
    return tail.text[found.end() :] if found else b""
