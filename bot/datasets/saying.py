"""What a survey says in its pod's log: how far it is, what it found, or why it failed."""

from collections.abc import Sequence
from typing import Literal

import msgspec

_MARK = '{"event"'


class Said(msgspec.Struct, frozen=True):
    """One line of the worker; which fields it has depends on the event."""

    event: Literal["progress", "done", "failed"]
    files_done: int = 0
    bytes_done: int = 0
    digest: str = ""
    objects: int = 0
    bytes: int = 0
    problems: int = 0
    message: str = ""
    hint: str = ""
    keys: tuple[str, ...] = ()


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_DECODER = msgspec.json.Decoder(Said)


def last_said(lines: Sequence[str]) -> Said | None:
    """The last of a log's lines that the worker meant for us; None when there is none."""
    return next(filter(None, map(_read, reversed(lines))), None)


def _read(line: str) -> Said | None:
    if not line.startswith(_MARK):
        return None
    try:
        return _DECODER.decode(line)
    except msgspec.MsgspecError:
        return None  # A log is cut anywhere.
