"""Whether a message or a view is within Slack's limits; the errors are Slack's own."""

import json
import secrets
from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import Any

from playground.slack.blocks import BLOCKS, MODAL_BLOCKS, characters
from playground.slack.elements import OPTION, plain
from playground.slack.errors import PersonError, SlackError
from playground.slack.shapes import Json, Rule, by_type, flag, items, problem, shape, string

MESSAGE_TEXT = 40_000
UPDATE_TEXT = 4_000
MESSAGE_CHARACTERS = 13_000
MARKDOWN_CHARACTERS = 12_000
METADATA_BYTES = 8_000
VIEW_BYTES = 250_000
CHARTS = 2

_MESSAGE_BLOCKS = items(by_type(BLOCKS), 0, 50)
_VIEW_BLOCKS = items(by_type(MODAL_BLOCKS), 0, 100)
_OFFERED = items(OPTION, 0, 100)
_VIEW_FIELDS: dict[str, Rule] = {
    "private_metadata": string(3000, 0),
    "callback_id": string(255, 0),
    "external_id": string(255, 0),
}
_VIEW = by_type(
    {
        "modal": shape(
            {"title": plain(24), "blocks": _VIEW_BLOCKS},
            {
                **_VIEW_FIELDS,
                "submit": plain(24),
                "close": plain(24),
                "clear_on_close": flag,
                "notify_on_close": flag,
                "submit_disabled": flag,
            },
        ),
        "home": shape({"blocks": _VIEW_BLOCKS}, _VIEW_FIELDS),
    }
)


def checked_blocks(blocks: Any, *, unsupported: Collection[str] = ()) -> list[Json]:
    """The blocks of a message as Slack keeps them, every block and element with an id.

    Raises:
        SlackError: invalid_blocks with a message for each fault, or msg_blocks_too_long.
    """
    found = list(_MESSAGE_BLOCKS(blocks, "/blocks")) or list(_between(blocks, "/blocks"))
    found += [
        problem(f"unsupported type: {block['type']}", f"/blocks/{index}/type")
        for index, block in enumerate(blocks if not found else [])
        if block["type"] in unsupported
    ]
    if found:
        raise SlackError("invalid_blocks", errors=found, **_messages(found))
    if characters(blocks) > MESSAGE_CHARACTERS:
        raise SlackError("msg_blocks_too_long")
    return with_ids(blocks)


def checked_view(view: Any) -> Json:
    """A view as Slack keeps it, every block and element with an id.

    Raises:
        SlackError: invalid_arguments with a message for each fault, or view_too_large.
    """
    if len(json.dumps(view)) > VIEW_BYTES:
        raise SlackError("view_too_large")
    found = list(_VIEW(view, "/view")) or list(_between(view["blocks"], "/view/blocks"))
    if not found and view["type"] == "modal":
        found = list(_submittable(view))
    if found:
        raise SlackError("invalid_arguments", **_messages(found))
    return {**view, "blocks": with_ids(view["blocks"])}


def checked_options(body: Any) -> list[Json]:
    """The options in the answer to a request for them; PersonError if Slack would show none."""
    options = body.get("options") if isinstance(body, dict) else None
    found = ["no options"] if options is None else list(_OFFERED(options, "/options"))
    if found:
        raise PersonError(f"the options could not be loaded: {found}")
    return list(options or [])


def checked_text(text: str, maximum: int) -> str:
    """The text, unless it is longer than Slack takes."""
    if len(text) > maximum:
        raise SlackError("msg_too_long")
    return text


def checked_metadata(metadata: Any) -> Json | None:
    """Message metadata with a type and a payload, within its size; {} means none."""
    if metadata in (None, {}):
        return None
    whole = isinstance(metadata, dict) and set(metadata) == {"event_type", "event_payload"}
    if not whole or not isinstance(metadata["event_payload"], dict):
        raise SlackError("invalid_metadata_format")
    if not isinstance(metadata["event_type"], str) or not metadata["event_type"]:
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return dict(metadata)


def with_ids(blocks: list[Json]) -> list[Json]:
    """A copy in which each block has a block_id and each element an action_id."""
    copies = deepcopy(blocks)
    for block in copies:
        block.setdefault("block_id", secrets.token_hex(3))
        for element in elements_of(block):
            if "text" in element or "options" in element or "action_id" in element:
                element.setdefault("action_id", secrets.token_hex(3))
    return copies


def elements_of(block: Json) -> list[Json]:
    """The elements of one block that a person can touch or that show an image."""
    if block["type"] == "actions":
        return list(block["elements"])
    return [block[name] for name in ("accessory", "element") if block.get(name)]


def _between(blocks: list[Json], path: str) -> Iterator[str]:
    """What no single block can know: ids that clash, and caps that blocks share."""
    ids: set[str] = set()
    for index, block in enumerate(blocks):
        own = block.get("block_id")
        if own in ids:
            yield problem(f"block_id `{own}` already exists", f"{path}/{index}/block_id")
        ids |= {own} if own else set()
        yield from _clashing_actions(block, f"{path}/{index}")
    yield from _shared_caps(blocks, path)


def _clashing_actions(block: Json, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for element in elements_of(block):
        action = element.get("action_id")
        if action in seen:
            yield problem(f"action_id `{action}` already exists for this block", path)
        seen |= {action} if action else set()


def _shared_caps(blocks: list[Json], path: str) -> Iterator[str]:
    kinds = [block["type"] for block in blocks]
    if kinds.count("table") > 1:
        yield problem("only_one_table_allowed", path)
    if kinds.count("data_visualization") > CHARTS:
        yield problem(f"no more than {CHARTS} data_visualization blocks allowed", path)
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN_CHARACTERS:
        yield problem(f"markdown must be less than {MARKDOWN_CHARACTERS + 1} characters", path)


def _submittable(view: Json) -> Iterator[str]:
    asks = any(block["type"] == "input" for block in view["blocks"])
    if asks and not view.get("submit"):
        yield problem("submit is required when an input block is in the blocks array", "/view")


def _messages(found: list[str]) -> Json:
    return {"response_metadata": {"messages": [f"[ERROR] {each}" for each in found]}}
