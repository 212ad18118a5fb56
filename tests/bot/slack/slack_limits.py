"""What Slack documents about its limits, read apart from the bot and from the playground.

Sources: docs.slack.dev, the pages of each block, element, composition object and view. That all
text of a message has about 13,000 characters at most is not documented, but what Slack does.
"""

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

# How many characters a text has, or how many items a list: at least, at most.
LENGTHS: dict[str, tuple[int, int]] = {
    "block_id": (1, 255),
    "action_id": (1, 255),
    "message.text": (1, 4_000),  # what chat.update takes; a first post takes more
    "message.blocks": (0, 50),
    "modal.blocks": (0, 100),
    "modal.title": (1, 24),
    "modal.submit": (1, 24),
    "modal.close": (1, 24),
    "home.blocks": (0, 100),
    "private_metadata": (0, 3_000),
    "callback_id": (0, 255),
    "header.text": (1, 150),
    "section.text": (1, 3_000),
    "section.fields": (1, 10),
    "section.fields[]": (1, 2_000),
    "context.elements": (1, 10),
    "context.elements[]": (1, 3_000),
    "actions.elements": (1, 25),
    "button.text": (1, 75),
    "button.value": (0, 2_000),
    "button.url": (1, 3_000),
    "confirm.title": (1, 100),
    "confirm.text": (1, 300),
    "confirm.confirm": (1, 30),
    "confirm.deny": (1, 30),
    "table.rows": (1, 100),
    "table.rows[]": (1, 20),
    "table.rows[][]": (1, 10_000),
    "data_table.caption": (1, 2_000),
    "data_table.rows": (2, 101),
    "data_table.rows[]": (1, 20),
    "data_table.rows[][]": (1, 10_000),
    "raw_number.text": (1, 10_000),
    "image.alt_text": (1, 2_000),
    "slack_file.id": (1, 255),
    "data_visualization.title": (1, 50),
    "bar.series": (1, 6),
    "series.name": (1, 20),
    "series.data": (1, 20),
    "data.label": (1, 20),
    "axis_config.categories": (1, 20),
    "axis_config.categories[]": (1, 20),
    "axis_config.y_label": (1, 50),
    "input.label": (1, 2_000),
    "input.hint": (1, 2_000),
    "placeholder": (1, 150),
    "plain_text_input.initial_value": (0, 3_000),
    "trigger_actions_on": (1, 2),
    "static_select.options": (1, 100),
    "multi_external_select.initial_options": (1, 100),
    "checkboxes.options": (1, 10),
    "checkboxes.initial_options": (1, 10),
    "option.text": (1, 75),
    "option.value": (1, 150),
}
WORDS = {
    "button.style": {"primary", "danger"},
    "trigger_actions_on[]": {"on_enter_pressed", "on_character_entered"},
}
SURFACES = {
    "message": {
        "header", "section", "context", "actions", "table", "data_table", "image",
        "data_visualization",
    },
    "modal": {"header", "section", "context", "actions", "image", "input"},
    "home": {"header", "section", "context", "actions", "image"},
}  # fmt: skip
ALL_TEXT, TABLE_TEXT, CHARTS, VIEW_BYTES = 13_000, 10_000, 2, 250_000
_OPTIONS = {"options": "option", "initial_options": "option", "initial_option": "option"}
_TEXTS = {"plain_text", "mrkdwn", "raw_text"}


def message_faults(text: str, blocks: list[Json]) -> list[str]:
    """What Slack would not take of a message."""
    message = {"type": "message", "text": text, "blocks": blocks}
    found = [*_surface_faults(message)]
    kinds = [block["type"] for block in blocks]
    if kinds.count("table") > 1 or kinds.count("data_visualization") > CHARTS:
        found.append(f"too many of a kind: {kinds}")
    if (said := sum(_said(blocks))) > ALL_TEXT:
        found.append(f"{said} characters in all")
    return found


def view_faults(view: Json) -> list[str]:
    """What Slack would not take of a modal or a Home tab."""
    found = [*_surface_faults(view)]
    if (size := len(json.dumps(view, ensure_ascii=False).encode(errors="replace"))) > VIEW_BYTES:
        found.append(f"a view of {size} bytes")
    asks = any(block["type"] == "input" for block in view["blocks"])
    if asks and "submit" not in view:
        found.append("an input without a submit button")
    return found


def option_faults(options: list[Json]) -> list[str]:
    """What Slack would not take of the options that it asked for."""
    return [*_length_faults({"type": "static_select", "options": options}, "")] if options else []


def _surface_faults(surface: Json) -> Iterator[str]:
    blocks = surface["blocks"]
    yield from _length_faults(surface, "")
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(set(ids)) < len(ids):
        yield f"block_ids repeat: {ids}"
    for block in blocks:
        if block["type"] not in SURFACES[surface["type"]]:
            yield f"no {block['type']} goes into a {surface['type']}"
        yield from _block_faults(block)


def _length_faults(value: Any, name: str) -> Iterator[str]:
    """Texts and lists that are too short or too long, or that the documentation does not name."""
    match value:
        case str() | list():
            yield from _length_fault(value, name)
            for each in value if isinstance(value, list) else ():
                yield from _length_faults(each, f"{name}[]")
        case {"type": kind, "text": str(text)} if kind in _TEXTS:
            yield from _length_fault(text, name)
        case dict():
            last = name.rpartition(".")[2].rstrip("[]")
            own = value.get("type", _OPTIONS.get(last, last))
            for key, inner in value.items():
                if key != "type":
                    yield from _length_faults(inner, f"{own}.{key}")
        case _:  # numbers and flags
            pass


def _length_fault(value: str | list[Any], name: str) -> Iterator[str]:
    bare = name.rpartition(".")[2]
    if words := WORDS.get(name, WORDS.get(bare)):
        if value not in words:
            yield f"{name} is {value}"
        return
    if (bounds := LENGTHS.get(name, LENGTHS.get(bare))) is not None:
        if not bounds[0] <= len(value) <= bounds[1]:
            yield f"{name} has {len(value)}, not {bounds[0]} to {bounds[1]}"
    elif not name.endswith("[]") or isinstance(value, str):
        yield f"{name} is unknown"


def _block_faults(block: Json) -> Iterator[str]:
    actions = [each.get("action_id") for each in block.get("elements", ())]
    named = [action for action in actions if action]
    if len(set(named)) < len(named):
        yield f"action_ids repeat: {named}"
    match block:
        case {"type": "table" | "data_table", "rows": rows}:
            if block["type"] == "data_table" and {each["type"] for each in rows[0]} != {"raw_text"}:
                yield "a heading of a data table is no text"
            if len({len(row) for row in rows}) != 1:
                yield "rows of a table differ in length"
            if sum(_said(rows)) > TABLE_TEXT:
                yield f"a table of {sum(_said(rows))} characters"
        case {"type": "data_visualization", "chart": chart}:
            yield from _chart_faults(chart)
        case {"type": "input", "element": element}:
            yield from _choice_faults(element)
        case _:
            pass


def _chart_faults(chart: Json) -> Iterator[str]:
    names = [each["name"] for each in chart["series"]]
    labels = [[point["label"] for point in each["data"]] for each in chart["series"]]
    if len(set(names)) < len(names):
        yield f"names of series repeat: {names}"
    if any(each != chart["axis_config"]["categories"] for each in labels):
        yield "labels of a series are not those of the axis"


def _choice_faults(element: Json) -> Iterator[str]:
    """Options that are chosen but not offered, or chosen twice."""
    chosen = [*element.get("initial_options", ())]
    chosen += [element["initial_option"]] if "initial_option" in element else []
    offered = element.get("options", chosen)
    if any(each not in offered for each in chosen):
        yield "a chosen option is not offered"
    values = [option["value"] for option in chosen]
    if len(set(values)) < len(values):
        yield f"options repeat: {values}"


def _said(value: Any) -> Iterator[int]:
    """How long each text is, at any depth; values of buttons count too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and key in {"text", "value"}:
                yield len(inner)
            yield from _said(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _said(each)
