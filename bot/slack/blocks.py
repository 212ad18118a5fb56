"""Cards and answers as Slack's blocks, always within Slack's limits."""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from bot.slack.card import Button, Card, Confirm, Reply
from bot.slack.markup import Markup, bold, plain
from bot.slack.shortening import cut, cut_markup, first_that_fit, last_lines, note, pieces
from bot.slack.text import headline, progress_text

# Slack's limits in characters or items; the one for a message is 13,000 by experience.
_MESSAGE = 11_800
_SECTION = 3_000
_FIELD = 2_000
_FIELDS = 10
_HEADER = 150
_BUTTONS = 25
_LABEL = 75
_VALUE = 2_000
_ACTION = 250
_CONFIRM_WEIGHT = 100 + 300 + 30 + 30
_TABLE = 10_000
_ROWS = 100
_COLUMNS = 20
_SCREEN = 10
_NEW = {"data_table", "data_visualization"}
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)
_CONTEXT = 10
_KEY = 200
# What one part of a card may take, so that there is always room for the others.
_BUTTONS_SHARE = 3_000
_FACTS_SHARE = 2_000
_FACT_LEAST = 20  # so that facts take ten blocks at most, of the fifty of a message
_FOOTER_SHARE = 400
_LINES_SHARE = 2_400
_REPLY_LINES_SHARE = 1_800
_REPLY_BUTTONS_SHARE = 800
_CELL = 200
_ROOM_FOR_NOTE = 60

Rendered = dict[str, Any]


def card_blocks(card: Card, *, key: str, charts: Sequence[Rendered] = ()) -> list[Rendered]:
    """The card's blocks; `key` names the message, and ids change with what a block says."""
    return _identified(_card(card, _MESSAGE, charts), key)


def reply_blocks(reply: Reply, *, key: str, charts: Sequence[Rendered] = ()) -> list[Rendered]:
    """The answer's blocks: its lines, its card, its buttons."""
    share = _REPLY_LINES_SHARE if reply.card else _MESSAGE - _BUTTONS_SHARE
    lines = _sections(reply.lines, share)
    most = _REPLY_BUTTONS_SHARE if reply.card else _BUTTONS_SHARE
    buttons = _actions(reply.buttons, most)
    room = _MESSAGE - _weight([*lines, *buttons])
    card = _card(reply.card, room, charts) if reply.card else []
    return _identified([*lines, *card, *buttons], key)


def has_new_blocks(blocks: Sequence[Rendered]) -> bool:
    """Whether there are blocks that some workspaces do not have yet: charts, sorted tables."""
    return any(block["type"] in _NEW for block in blocks)


def with_plain_tables(blocks: Sequence[Rendered]) -> list[Rendered]:
    """The same blocks with tables that each workspace knows."""
    return [_plain_table(block) if block["type"] == "data_table" else block for block in blocks]


def _plain_table(block: Rendered) -> Rendered:
    rows = _texts([cell["text"] for cell in row] for row in block["rows"])
    return {"type": "table", "block_id": block["block_id"], "rows": rows}


def digest_of(content: object, size: int) -> str:
    """A digest of JSON content, in twice `size` characters."""
    return hashlib.blake2b(encoded(content), digest_size=size).hexdigest()


def encoded(content: object) -> bytes:
    """Content made of JSON's types as JSON."""
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:  # half of a surrogate pair, which only escapes can show
        return json.dumps(content).encode()


def _card(card: Card, room: int, charts: Sequence[Rendered]) -> list[Rendered]:
    """The card's blocks from top to bottom; made by importance, each within what is left."""
    made = {"charts": (latest := list(charts))}
    for name, make in _BY_IMPORTANCE.items():
        room -= _weight(latest)
        made[name] = latest = make(card, room)
    return [block for name in _TOP_DOWN for block in made[name]]


def _heading(card: Card, _room: int) -> list[Rendered]:
    text = headline(card.title, card.state, card.tone)
    said = {"type": "plain_text", "text": cut(text, _HEADER)}
    return [_block("header", text=said)] if text else []


def _progress(card: Card, _room: int) -> list[Rendered]:
    return [_section(plain(cut(progress_text(card.progress), 150)))] if card.progress else []


def _facts(card: Card, _room: int) -> list[Rendered]:
    fields = [_field(label, value) for label, value in card.facts]
    fitting = first_that_fit(fields, _FACTS_SHARE, "fact", least=_FACT_LEAST)
    groups = [fitting[start : start + _FIELDS] for start in range(0, len(fitting), _FIELDS)]
    return [_block("section", fields=[_mrkdwn(text) for text in group]) for group in groups]


def _field(label: str, value: Markup) -> Markup:
    return cut_markup(Markup(f"{bold(cut(label, 100))}\n{value or '-'}"), _FIELD)


def _lines(card: Card, room: int) -> list[Rendered]:
    return _sections(card.lines, min(room, _LINES_SHARE) if card.code or card.table else room)


def _code(card: Card, room: int) -> list[Rendered]:
    if not card.code.strip():
        return []
    most = min(room // 2 if card.table else room, _SECTION) - 10
    return [_section(Markup(f"```\n{last_lines(card.code.rstrip(), most)}\n```"))]


def _document(card: Card, room: int) -> list[Rendered]:
    if not card.document.strip():
        return []
    whole = pieces(card.document.rstrip(), _SECTION - 10)
    ends = itertools.accumulate(len(piece) + 20 for piece in whole)
    kept = whole[: sum(1 for end in ends if end <= room - _ROOM_FOR_NOTE)]
    shown = [_section(Markup(f"```\n{piece}\n```")) for piece in kept]
    return [*shown, *_context(note(len(whole) - len(kept), "part"))]


def _table(card: Card, room: int) -> list[Rendered]:
    if card.table is None:
        return []
    rows = [card.table.header, *card.table.rows]
    columns = max(map(len, rows))
    shown = min(columns, _COLUMNS)
    if not shown:
        return []
    widest = max(min(_CELL, room // (3 * shown)), 1)
    cells = [[cut(cell.strip() or "-", widest) for cell in _padded(row, shown)] for row in rows]
    kept = _rows_that_fit(cells, min(room - 80, _TABLE))
    rest = [*note(len(cells) - len(kept), "row"), *note(columns - shown, "column")]
    is_long = len(kept) > 1 + _SCREEN
    made = _data_table(card.title, kept) if is_long else _block("table", rows=_texts(kept))
    return [made, *_context(rest)]


def _texts(rows: Iterable[Iterable[str]]) -> list[list[Rendered]]:
    return [[{"type": "raw_text", "text": cell} for cell in row] for row in rows]


def _data_table(title: str, rows: Sequence[Sequence[str]]) -> Rendered:
    """A table with pages; a click on a heading sorts it, by value where all are numbers."""
    cells = _texts(rows)
    for column in zip(*cells[1:], strict=True):
        if all(_NUMBER.fullmatch(cell["text"]) for cell in column):
            for cell in column:
                cell |= {"type": "raw_number", "value": float(cell["text"])}
    caption = cut(title.strip() or "Table", _HEADER)
    return _block(
        "data_table", caption=caption, page_size=_SCREEN, row_header_column_index=0, rows=cells
    )


def _padded(row: Sequence[str], count: int) -> Sequence[str]:
    return row if len(row) == count else [*row[:count], *[""] * (count - len(row))]


def _rows_that_fit(rows: Sequence[list[str]], room: int) -> list[list[str]]:
    ends = itertools.accumulate(sum(map(len, row)) for row in rows[:_ROWS])
    fitting = sum(1 for end in ends if end <= room)
    return list(rows[: max(fitting, 1)])


def _footer(card: Card, _room: int) -> list[Rendered]:
    return _context(first_that_fit(card.footer, _FOOTER_SHARE, "note"))


def _card_buttons(card: Card, _room: int) -> list[Rendered]:
    return _actions(card.buttons, _BUTTONS_SHARE)


_BY_IMPORTANCE: dict[str, Callable[[Card, int], list[Rendered]]] = {
    "heading": _heading,
    "buttons": _card_buttons,
    "progress": _progress,
    "facts": _facts,
    "footer": _footer,
    "lines": _lines,
    "code": _code,
    "document": _document,
    "table": _table,
}
_TOP_DOWN = (
    "heading",
    "progress",
    "lines",
    "facts",
    "charts",
    "table",
    "code",
    "document",
    "buttons",
    "footer",
)


def _block(kind: str, **content: object) -> Rendered:
    """A block as Slack takes it; its id follows once its place is known."""
    return {"type": kind, "block_id": "", **content}


def _section(markup: Markup) -> Rendered:
    return _block("section", text=_mrkdwn(markup))


def _sections(lines: Sequence[Markup], most: int) -> list[Rendered]:
    """The lines, as few sections as hold them."""
    written = [cut_markup(line, _SECTION - 1) for line in lines if line.strip()]
    sections: list[str] = []
    for line in first_that_fit(written, most, "line") if written else []:
        if sections and len(sections[-1]) + len(line) < _SECTION:
            sections[-1] += f"\n{line}"
        else:
            sections.append(line)
    return [_section(Markup(section)) for section in sections]


def _context(lines: Sequence[Markup]) -> list[Rendered]:
    written = [line for line in lines if line.strip()][:_CONTEXT]
    return [_block("context", elements=[_mrkdwn(line) for line in written])] if written else []


def _actions(buttons: Sequence[Button], most: int) -> list[Rendered]:
    """The buttons that fit, then how many more there are.

    A button whose value is too long counts among those: cut, it would mean something else.
    """
    seen: Counter[str] = Counter()
    elements: list[Rendered] = []
    for button in buttons:
        most -= _button_weight(button)
        if most < 0 or len(button.value) > _VALUE or len(elements) == _BUTTONS:
            continue
        elements.append(_button(button, seen))
    rest = _context(note(len(buttons) - len(elements), "button"))
    return [_block("actions", elements=elements), *rest] if elements else rest


def _button_weight(button: Button) -> int:
    asked = _CONFIRM_WEIGHT if button.confirm else 0
    return len(button.value) + len(button.url) + min(len(button.label), _LABEL) + asked


def _button(button: Button, seen: Counter[str]) -> Rendered:
    """Slack wants every action id once in a block, so repeated ones get a number: `a.b:2`."""
    action = button.action[:_ACTION]
    seen[action] += 1
    element: Rendered = {
        "type": "button",
        "text": _plain_text(button.label, _LABEL),
        "action_id": action if seen[action] == 1 else f"{action}:{seen[action]}",
    }
    if button.style:
        element["style"] = button.style
    if button.value:
        element["value"] = button.value
    if button.url:
        element["url"] = button.url
    if button.confirm:
        element["confirm"] = _confirm(button.confirm)
    return element


def _confirm(confirm: Confirm) -> Rendered:
    return {
        "title": _plain_text(confirm.title, 100),
        "text": _plain_text(confirm.text, 300),
        "confirm": _plain_text(confirm.yes, 30),
        "deny": _plain_text(confirm.no, 30),
    }


def _plain_text(text: str, most: int) -> Rendered:
    said = cut(text if text.strip() else "-", most)
    return {"type": "plain_text", "text": said, "emoji": True}


def _mrkdwn(markup: str) -> Rendered:
    """Text in which Slack makes no links and mentions of its own."""
    return {"type": "mrkdwn", "text": markup, "verbatim": True}


def _identified(blocks: list[Rendered], key: str) -> list[Rendered]:
    """The blocks, each with an id of its place and its content."""
    for place, block in enumerate(blocks):
        del block["block_id"]
        block["block_id"] = f"{key[:_KEY]}.{place}.{digest_of(block, 6)}"
    return blocks


def _weight(content: object) -> int:
    """How many characters of text and values blocks hold, at any depth."""
    if isinstance(content, dict):
        own = sum(
            len(content[key]) for key in ("text", "value") if isinstance(content.get(key), str)
        )
        return own + sum(map(_weight, content.values()))
    return sum(map(_weight, content)) if isinstance(content, list) else 0
