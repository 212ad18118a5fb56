"""Text cut to fit where it goes, with a mark where something is left out."""

import re
from collections.abc import Sequence
from itertools import accumulate

from bot.slack.markup import Markup, plain

_PIECE = re.compile(r"<[^<>]*>|&(?:amp|lt|gt);|.", re.DOTALL)
_ROOM_FOR_NOTE = 40


def cut(text: str, most: int) -> str:
    """At most `most` characters of plain text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_markup(markup: Markup, most: int) -> Markup:
    """At most `most` characters of markup; mentions, dates and escapes stay whole."""
    if len(markup) <= most:
        return markup
    kept = 0
    for piece in _PIECE.finditer(markup):
        if piece.end() >= most:
            break
        kept = piece.end()
    return Markup(f"{markup[:kept]}…")


def first_that_fit(
    items: Sequence[Markup], most: int, noun: str, *, least: int = 1
) -> list[Markup]:
    """The first items that together have `most` characters, then how many more there are.

    Items are counted with the line break after them, and as `least` characters at least. The first
    is kept in any case, cut to fit.
    """
    widths = [max(len(item) + 1, least) for item in items]
    if sum(widths) <= most:
        return list(items)
    left = most - _ROOM_FOR_NOTE
    fitting = sum(1 for end in accumulate(widths) if end <= left)
    kept = list(items[:fitting]) or [cut_markup(items[0], left)]
    return [*kept, *note(len(items) - len(kept), noun)]


def pieces(text: str, most: int) -> list[Markup]:
    """The whole text, escaped, in pieces of at most `most` characters; lines are kept together."""
    found = [""]
    for line in text.replace("`", "\u02cb").splitlines(keepends=True):
        # An escaped character takes up to five.
        width = len(line) if len(plain(line)) <= most else most // 5
        for start in range(0, len(line), width):
            part = line[start : start + width]
            if len(plain(found[-1] + part)) > most:
                found.append("")
            found[-1] += part
    return [plain(piece.rstrip("\n")) for piece in found if piece]


def note(left_out: int, noun: str) -> list[Markup]:
    """One line that says how many are left out, or none."""
    if not left_out:
        return []
    return [Markup(f"_… {left_out:,} more {noun if left_out == 1 else f'{noun}s'}_")]


def last_lines(text: str, most: int) -> Markup:
    """The end of `text`, escaped, in at most `most` characters, below what is left out."""
    escaped = plain(text.replace("`", "\u02cb"))
    if len(escaped) <= most:
        return escaped
    start, left = len(text), most - _ROOM_FOR_NOTE
    while left >= (width := len(plain(text[start - 1]))):
        start, left = start - 1, left - width
    line_end = text.find("\n", start, start + most // 4)
    start = line_end + 1 if line_end >= 0 else start
    kept = plain(text[start:].replace("`", "\u02cb"))
    earlier = text.count("\n", 0, start)
    said = f"{earlier:,} earlier line{'' if earlier == 1 else 's'}" if earlier else ""
    return Markup(f"… {said}\n{kept}" if said else f"…{kept}")
