"""A Home tab as a view of Slack, always within Slack's limits."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.slack.blocks import Rendered, card_blocks, reply_blocks
from bot.slack.card import Button, Card, Reply
from bot.slack.home.page import FormButton, HomePage, HomeSection
from bot.slack.markup import Markup, join, plain, when
from bot.slack.shortening import cut, cut_markup, note

HOME = "home"
_BLOCKS = 100
_BYTES = 240_000  # Slack takes 250 kB; the rest is for what stands around the blocks
_SECTIONS = 45
_MOST_TITLE, _MOST_NOTE = 80, 250
_NOTE_BYTES = 2_000

MakeButton = Callable[[FormButton], Button | None]
"""Makes the button that opens a form; None if its command is too long for one."""


def home_view(
    page: HomePage, channel: str, moments: tuple[datetime, datetime], make: MakeButton
) -> Rendered:
    """The view; `channel` are the person's direct messages, where answers to clicks go.

    `moments` are when it is published, and until when it is kept up to date.
    """
    sections = page.sections[:_SECTIONS]
    left_out = note(len(page.sections) - len(sections), "section")
    footer = reply_blocks(Reply((*left_out, _footer(*moments))), key="home-footer")
    room = _Room(_BLOCKS - len(footer), _BYTES)
    heads = [
        _head(section, place, room, len(sections), make) for place, section in enumerate(sections)
    ]
    blocks: list[Rendered] = []
    for place, section in enumerate(sections):
        notes = sum(bool(each.items) for each in sections[place:])
        blocks += _with_items(section, heads[place], place, room, notes)
    return {
        "type": "home",
        "callback_id": HOME,
        "private_metadata": channel,
        "blocks": [*blocks, *footer],
    }


def home_channel(view: Mapping[str, Any]) -> str:
    """The direct messages to which a view of ours belongs; empty for any other view."""
    is_ours = view.get("type") == "home" and view.get("callback_id") == HOME
    channel = str(view.get("private_metadata", "")) if is_ours else ""
    return channel if channel.startswith("D") else ""


class _Room:
    """How many blocks and bytes are left."""

    def __init__(self, blocks: int, size: int) -> None:
        self.blocks = blocks
        self.bytes = size

    def has(self, blocks: Sequence[Rendered], notes: int) -> bool:
        """Whether these blocks fit, and so many notes after them."""
        has_blocks = self.blocks >= len(blocks) + notes
        return has_blocks and self.bytes >= _size(blocks) + notes * _NOTE_BYTES

    def take(self, blocks: list[Rendered]) -> list[Rendered]:
        """The blocks, which are in the view from now on."""
        self.blocks -= len(blocks)
        self.bytes -= _size(blocks)
        return blocks


def _head(
    section: HomeSection, place: int, room: _Room, sections: int, make: MakeButton
) -> list[Rendered] | None:
    """Title, lines and buttons of a section; None, with room for a note, where they do not fit."""
    buttons = tuple(_made(section.buttons, make))
    head = card_blocks(
        Card(title=section.title, lines=section.lines, buttons=buttons), key=f"home-{place}"
    )
    # Every section may need a note for what is left out of it, later ones another for their head.
    if room.has(head, 2 * sections - place):
        return room.take(head)
    room.take(_note(section, place))
    return None


def _with_items(
    section: HomeSection, head: list[Rendered] | None, place: int, room: _Room, notes: int
) -> Iterator[Rendered]:
    """The section's blocks; of its things those that fit, and how to see the others.

    So many sections from this one on may need a note for that.
    """
    if head is None:
        yield from _note(section, place)
        return
    yield from head
    for number, item in enumerate(section.items):
        blocks = reply_blocks(Reply(item.lines, buttons=item.buttons), key=f"home-{place}-{number}")
        if not room.has(blocks, notes):
            yield from room.take(_note(section, place, len(section.items) - number))
            return
        yield from room.take(blocks)


def _made(buttons: Sequence[Button | FormButton], make: MakeButton) -> Iterator[Button]:
    for each in buttons:
        made = make(each) if isinstance(each, FormButton) else each
        if made is not None:
            yield made


def _note(section: HomeSection, place: int, left_out: int | None = None) -> list[Rendered]:
    """One short block: what is left out of a section, and how to see it."""
    count = len(section.items) if left_out is None else left_out
    many = f" ({count:,} more)" if count else ""
    title = plain(cut(section.title, _MOST_TITLE))
    text = cut_markup(join("*", title, many, "* ", section.rest), _MOST_NOTE)
    return reply_blocks(Reply((text,)), key=f"home-{place}-rest")


def _footer(at: datetime, until: datetime) -> Markup:
    again = "; open this tab again for longer."
    return join("Published ", when(at), ". Kept up to date until ", when(until), again)


def _size(blocks: Sequence[Rendered]) -> int:
    return sum(len(json.dumps(block)) + 2 for block in blocks)
