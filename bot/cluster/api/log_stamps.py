"""The times that a kubelet writes before the lines of a log, to the nanosecond."""

import re
from datetime import UTC, datetime

STAMP_BYTES = 36
"""The most that a time and the space after it take."""

_STAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2}) "
)
_STAMP_BYTES = re.compile(_STAMP.pattern.encode())
_PER_SECOND = 1_000_000_000


def split_stamps(text: str) -> tuple[str, list[int | None]]:
    """The text without the times of its lines, and these; None for a line without one."""
    bare, stamps = [], list[int | None]()
    for line in text.split("\n"):
        stamp, rest = read_stamp(line)
        bare.append(rest)
        stamps.append(stamp)
    return "\n".join(bare), stamps


def read_stamp(line: str) -> tuple[int | None, str]:
    """The time before a line in nanoseconds since 1970, and the line; None if it has no time."""
    found = _STAMP.match(line)
    if found is None:
        return None, line
    try:
        moment = datetime.fromisoformat(f"{found[1]}{found[3]}")
    except ValueError:
        return None, line
    fraction = int((found[2] or "").ljust(9, "0"))
    return int(moment.timestamp()) * _PER_SECOND + fraction, line[found.end() :]


def without_stamp(text: bytes) -> bytes:
    """The text without the time at its beginning."""
    found = _STAMP_BYTES.match(text)
    return text[found.end() :] if found else text


def moment_of(stamp: int) -> datetime:
    """A time in nanoseconds since 1970 as a moment, to the second before."""
    return datetime.fromtimestamp(stamp // _PER_SECOND, UTC)
