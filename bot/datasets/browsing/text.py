"""Reads the first lines of a file as text, from its first bytes."""

import codecs
import re
import zlib
from typing import Final, NamedTuple

from bot.datasets.browsing.formats import format_of
from bot.errors import UsageError
from bot.masking import mask_lines

MOST_BYTES: Final = 64 * 1024
"""How much of an object is read, and how much of a compressed one is decompressed."""

MOST_LINES: Final = 100
_MOST_CHARACTERS, _LONGEST_LINE = 7_000, 1_000
_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
_USUAL_ENCODING: Final = "utf-8"
_MARKS: Final = (
    (codecs.BOM_UTF8, _USUAL_ENCODING),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Control characters, and those that change the direction of text.
_INVISIBLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_WESTERN: Final = "windows-1252"
_REPLACED: Final = "\ufffd"


class TextHead(NamedTuple):
    """The first lines of a text, which are `line_count` lines of it; it `is_whole` if that is all.

    `remarks` say how it was read, in sentences.
    """

    lines: tuple[str, ...]
    line_count: int
    is_whole: bool
    remarks: tuple[str, ...] = ()


def text_head(begin: bytes, *, is_whole: bool, most_lines: int) -> TextHead:
    """The first lines of a file that begins with these bytes; UsageError if it is not text.

    It `is_whole` if these are all of its bytes. What looks like a secret is hidden.
    """
    remarks = []
    if begin.startswith(_GZIP):
        begin, is_whole = _decompressed(begin, is_whole=is_whole)
        remarks.append("Decompressed from gzip.")
    text, encoding = _decoded(begin, is_compressed=bool(remarks))
    if encoding != _USUAL_ENCODING:
        remarks.append(f"Read as {encoding}, since it is not UTF-8.")
    lines = _whole_lines(text, is_whole=is_whole)
    taken = lines[:most_lines]
    # Hiding a private key takes several lines for one.
    hidden = [_visible(line) for line in mask_lines(taken, _LONGEST_LINE)]
    shown = _fitting(hidden)
    is_cut = len(shown) < len(hidden)
    if is_cut:
        remarks.append("A message has no room for more.")
    elif len(taken) < most_lines and not is_whole:
        remarks.append(f"Only the first {MOST_BYTES // 1024} KiB were read.")
    count = len(shown) if is_cut else len(taken)
    return TextHead(tuple(shown), count, is_whole and count == len(lines), tuple(remarks))


def _whole_lines(text: str, *, is_whole: bool) -> list[str]:
    """The lines of a text, without one whose end was not read, unless there is no other."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "" or (not is_whole and len(lines) > 1):
        lines.pop()
    return lines


def _decompressed(begin: bytes, *, is_whole: bool) -> tuple[bytes, bool]:
    """The first bytes of what was compressed, and whether they are all."""
    found, rest = b"", begin
    while rest and len(found) < MOST_BYTES:  # a file may have several compressed parts
        reading = zlib.decompressobj(_GZIP_WINDOW)
        try:
            found += reading.decompress(rest, MOST_BYTES - len(found))
        except zlib.error as error:
            raise UsageError("This is a gzip file that cannot be decompressed.") from error
        if not reading.eof:
            return found, False
        rest = reading.unused_data
    return found, is_whole and not rest


def _decoded(begin: bytes, *, is_compressed: bool) -> tuple[str, str]:
    """The text and its encoding; UsageError if it is not text."""
    found = _as_text(begin)
    known = format_of(begin, is_text=found is not None)
    if found is not None and known is None:
        return found
    said = known or "not text, and of an unknown format"
    compressed = ", compressed with gzip" if is_compressed else ""
    raise UsageError(
        f"This file is {said}{compressed}.", "Only text is shown. Read it in a run with --data."
    )


def _as_text(begin: bytes) -> tuple[str, str] | None:
    """The text and its encoding; None if there are bytes that no text has."""
    mark, encoding = next(
        (each for each in _MARKS if begin.startswith(each[0])), (b"", _USUAL_ENCODING)
    )
    try:
        # The last character may not be there as a whole.
        text = codecs.getincrementaldecoder(encoding)().decode(begin[len(mark) :])
    except UnicodeDecodeError:
        text, encoding = begin.decode(_WESTERN, errors="replace"), _WESTERN
        if _REPLACED in text or _CONTROL.search(text):
            return None
    return None if "\x00" in text else (text, encoding)


def _visible(line: str) -> str:
    return _INVISIBLE.sub(_REPLACED, line)


def _fitting(lines: list[str]) -> list[str]:
    """The first lines that a message has room for, at least one."""
    room = _MOST_CHARACTERS
    for place, line in enumerate(lines):
        room -= len(line) + 1 + 4 * sum(map(line.count, "&<>"))
        if room < 0 and place:
            return lines[:place]
    return lines
