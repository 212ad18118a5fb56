"""Parses what a worker writes to its pod's log: progress, result or failure."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from bot.datasets.manifest import Remarks
from bot.masking import hide_secrets, without_mentions

_MARK = '{"event"'


class Said(msgspec.Struct, frozen=True):
    """One log line of the worker; which fields are set depends on the event."""

    event: Literal["progress", "done", "failed"]
    phase: str = ""
    files_done: int = 0
    bytes_done: int = 0
    bytes_per_second: float | None = None
    files_total: int | None = None
    bytes_total: int | None = None
    digest: str = ""
    objects: int = 0
    bytes: int = 0
    problems: int = 0
    copied_files: int = 0
    copied_bytes: int = 0
    copy: str = ""
    removed_files: int = 0
    removed_bytes: int = 0
    verified_by: dict[str, int] = {}
    verified_bytes: dict[str, int] = {}
    ready: bool = False
    files: str = ""
    links: Remarks = Remarks()
    others: int = 0
    counts: dict[str, int] = {}
    changed: int = 0
    reason: str = ""
    message: str = ""
    hint: str = ""
    keys: tuple[str, ...] = ()


# msgspec inspects a class on first use, and a second thread doing so at that moment crashes.
_DECODER = msgspec.json.Decoder(Said)


def last_said(lines: Sequence[str]) -> Said | None:
    """The last log line that the worker wrote for the bot; None without one."""
    return next(filter(None, map(_read, reversed(lines))), None)


def last_progress(lines: Sequence[str]) -> Said | None:
    """The last progress that the worker reported; None if it reported none."""
    said = filter(None, map(_read, reversed(lines)))
    return next((each for each in said if each.event == "progress"), None)


def _read(line: str) -> Said | None:
    if not line.startswith(_MARK):
        return None
    try:
        said = _DECODER.decode(line)
    except msgspec.MsgspecError:
        return None  # A log may be cut within a line.
    # Its messages contain file names, which other people chose.
    words = {"message": said.message, "hint": said.hint}
    return replace(
        said,
        **{name: without_mentions(hide_secrets(each)) for name, each in words.items()},
        keys=tuple(map(without_mentions, said.keys)),
    )
