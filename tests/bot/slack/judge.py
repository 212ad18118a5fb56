"""Blocks judged by slackblocks, which knows Slack's limits and makes the same blocks itself."""

from typing import Any

from slackblocks import (
    ActionsBlock,
    Block,
    Button,
    ConfirmationDialogue,
    ContextBlock,
    DataTableBlock,
    HeaderBlock,
    RawNumber,
    RawText,
    RichTextBlock,
    RichTextObject,
    SectionBlock,
    TableBlock,
    Text,
    TextType,
    WebhookMessage,
)


def made_by_library(block: dict[str, Any]) -> dict[str, Any]:
    """What the library makes of a block's content; it raises where Slack would refuse it."""
    made: dict[str, Any] = WebhookMessage(blocks=[_block(block)]).to_dict()["blocks"][0]
    return made


def _block(block: dict[str, Any]) -> Block:
    block_id = block["block_id"]
    match block:
        case {"type": "header", "text": text}:
            return HeaderBlock(_text(text), block_id)
        case {"type": "section", "fields": fields}:
            return SectionBlock(fields=[_text(each) for each in fields], block_id=block_id)
        case {"type": "section", "text": text}:
            return SectionBlock(_text(text), block_id)
        case {"type": "context", "elements": elements}:
            return ContextBlock([_text(each) for each in elements], block_id)
        case {"type": "actions", "elements": elements}:
            return ActionsBlock([_button(each) for each in elements], block_id)
        case {"type": "table", "rows": rows}:
            return TableBlock([_cells(row) for row in rows], block_id=block_id)
        case {"type": "data_table", "rows": rows}:
            cells = [[_cell(cell) for cell in row] for row in rows]
            return DataTableBlock(cells, block["caption"], block["page_size"], block_id=block_id)
        case _:
            raise AssertionError(block["type"])


def _cells(row: list[dict[str, Any]]) -> list[RawText | RichTextObject]:
    return [RawText(cell["text"]) for cell in row]


def _cell(cell: dict[str, Any]) -> RawText | RawNumber | RichTextBlock:
    if cell["type"] == "raw_text":
        return RawText(cell["text"])
    return RawNumber(cell["value"], cell["text"])


def _button(element: dict[str, Any]) -> Button:
    confirm = element.get("confirm")
    return Button(
        _text(element["text"]),
        action_id=element["action_id"],
        value=element.get("value"),
        url=element.get("url"),
        style=element.get("style"),
        confirm=_confirm(confirm) if confirm else None,
    )


def _confirm(confirm: dict[str, Any]) -> ConfirmationDialogue:
    title, text, yes, no = (_text(confirm[part]) for part in ("title", "text", "confirm", "deny"))
    return ConfirmationDialogue(title=title, text=text, confirm=yes, deny=no)


def _text(text: dict[str, Any]) -> Text:
    emoji, verbatim = text.get("emoji", False), text.get("verbatim", False)
    return Text(text["text"], TextType(text["type"]), emoji=emoji, verbatim=verbatim)
