"""What Slack accepts as a block, one row a kind."""

from collections.abc import Iterator
from typing import Any

from playground.slack.elements import (
    ACCESSORY,
    ACTIONS_ELEMENT,
    CONTEXT_ELEMENT,
    ID,
    IMAGE_SOURCE,
    INPUT_ELEMENT,
    URL,
    plain,
    text,
)
from playground.slack.shapes import (
    Rule,
    all_of,
    any_field,
    anything,
    by_type,
    choice,
    flag,
    items,
    number,
    problem,
    shape,
    string,
)

TABLE_CHARACTERS = 10_000


def _block(required: dict[str, Rule], optional: dict[str, Rule] | None = None) -> Rule:
    return shape(required, {"block_id": ID, **(optional or {})})


_STYLE: dict[str, Rule] = {"style": anything}
_RICH_INLINE = by_type(
    {
        "text": shape({"text": string(12_000)}, _STYLE),
        "link": shape({"url": URL}, {"text": string(3000, 0), "unsafe": flag, **_STYLE}),
        "user": shape({"user_id": ID}, _STYLE),
        "usergroup": shape({"usergroup_id": ID}, _STYLE),
        "channel": shape({"channel_id": ID}, _STYLE),
        "emoji": shape({"name": string(100)}, {"unicode": string(100), **_STYLE}),
        "broadcast": shape({"range": choice("here", "channel", "everyone")}, _STYLE),
        "color": shape({"value": string(20)}, _STYLE),
        "date": shape(
            {"timestamp": number(0, whole=True), "format": string(100)},
            {"url": URL, "fallback": string(300), **_STYLE},
        ),
    }
)
_RICH_LINE = items(_RICH_INLINE, 0, 1000)
_RICH_SECTION = shape({"elements": _RICH_LINE})
_BORDER: dict[str, Rule] = {"border": number(0, 1, whole=True)}
RICH_TEXT = _block(
    {
        "elements": items(
            by_type(
                {
                    "rich_text_section": _RICH_SECTION,
                    "rich_text_quote": shape({"elements": _RICH_LINE}, _BORDER),
                    "rich_text_preformatted": shape(
                        {"elements": _RICH_LINE}, {**_BORDER, "language": string(100)}
                    ),
                    "rich_text_list": shape(
                        {
                            "style": choice("bullet", "ordered"),
                            "elements": items(
                                by_type({"rich_text_section": _RICH_SECTION}), 0, 1000
                            ),
                        },
                        {
                            **_BORDER,
                            "indent": number(0, 8, whole=True),
                            "offset": number(0, whole=True),
                        },
                    ),
                }
            ),
            0,
            1000,
        )
    }
)
_CELL: dict[str, Rule] = {
    "raw_text": shape({"text": string(TABLE_CHARACTERS)}),
    "raw_number": shape({"value": number(), "text": string(TABLE_CHARACTERS)}),
    "rich_text": RICH_TEXT,
}


def even_rows(table: Any, path: str) -> Iterator[str]:
    """Every row of a table has as many cells as the first."""
    rows = table["rows"]
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            yield problem("all rows must have the same number of cells", f"{path}/rows/{index}")


def plain_header(table: Any, path: str) -> Iterator[str]:
    """The header of a data table holds no rich text."""
    for index, cell in enumerate(table["rows"][0]):
        if cell["type"] == "rich_text":
            yield problem("unsupported type: rich_text", f"{path}/rows/0/{index}/type")


def characters(value: Any) -> int:
    """How many characters of text are anywhere inside, as Slack counts them for its caps."""
    if isinstance(value, dict):
        own = value.get("text")
        rest = sum(characters(inner) for key, inner in value.items() if key != "text")
        return rest + (len(own) if isinstance(own, str) else characters(own))
    return sum(map(characters, value)) if isinstance(value, list) else 0


def table_size(table: Any, path: str) -> Iterator[str]:
    """All cells of a table together stay within the cap."""
    if characters(table["rows"]) > TABLE_CHARACTERS:
        yield problem(f"must be less than {TABLE_CHARACTERS + 1} characters", f"{path}/rows")


def series_fit_axis(chart: Any, path: str) -> Iterator[str]:
    """Series have names of their own, and one value for each category, in order."""
    names = [series["name"] for series in chart["series"]]
    if len(set(names)) != len(names):
        yield problem("series names must be unique", f"{path}/series")
    categories = chart["axis_config"]["categories"]
    for index, series in enumerate(chart["series"]):
        if [point["label"] for point in series["data"]] != categories:
            yield problem("labels must match axis categories", f"{path}/series/{index}/data")


_POINT = shape({"label": string(20), "value": number()})
_XY = all_of(
    shape(
        {
            "series": items(shape({"name": string(20), "data": items(_POINT, 1, 20)}), 1, 6),
            "axis_config": shape(
                {"categories": items(string(20), 1, 20)},
                {"x_label": string(50), "y_label": string(50)},
            ),
        }
    ),
    series_fit_axis,
)
_SEGMENT = shape({"label": string(20), "value": number(1e-9)})
_CHART = by_type(
    {
        "pie": shape({"segments": items(_SEGMENT, 1, 6)}),
        "bar": _XY,
        "line": _XY,
        "area": _XY,
    }
)
_COLUMN = shape({}, {"align": choice("left", "center", "right"), "is_wrapped": flag})

BLOCKS: dict[str, Rule] = {
    "actions": _block({"elements": items(ACTIONS_ELEMENT, 1, 25)}),
    "context": _block({"elements": items(CONTEXT_ELEMENT, 1, 10)}),
    "divider": _block({}),
    "header": _block({"text": plain(150)}),
    "image": all_of(
        _block({"alt_text": string(2000)}, {**IMAGE_SOURCE, "title": plain(2000)}),
        any_field("image_url", "slack_file"),
    ),
    "input": _block(
        {"label": plain(2000), "element": INPUT_ELEMENT},
        {"hint": plain(2000), "optional": flag, "dispatch_action": flag},
    ),
    "markdown": _block({"text": string(12_000)}),
    "rich_text": RICH_TEXT,
    "section": all_of(
        _block(
            {},
            {
                "text": text(3000),
                "fields": items(text(2000), 1, 10),
                "accessory": ACCESSORY,
                "expand": flag,
            },
        ),
        any_field("text", "fields"),
    ),
    "table": all_of(
        _block(
            {"rows": items(items(by_type(_CELL), 1, 20), 1, 100)},
            {"column_settings": items(_COLUMN, 0, 20)},
        ),
        even_rows,
        table_size,
    ),
    "data_table": all_of(
        _block(
            {
                "caption": string(2000),
                "rows": items(items(by_type(_CELL), 1, 20), 2, 101),
            },
            {
                "page_size": number(1, 100, whole=True),
                "row_header_column_index": number(0, 19, whole=True),
            },
        ),
        even_rows,
        plain_header,
        table_size,
    ),
    "data_visualization": _block({"title": string(50), "chart": _CHART}),
    "task_card": _block(
        {
            "task_id": ID,
            "title": string(150),
            "status": choice("in_progress", "complete", "error"),
        },
        {"details": RICH_TEXT, "output": RICH_TEXT, "sources": anything},
    ),
}
MODAL_BLOCKS: dict[str, Rule] = {
    **{k: v for k, v in BLOCKS.items() if k not in ("markdown", "table", "task_card")},
    "alert": _block(
        {"text": text(200)},
        {"level": choice("default", "info", "success", "warning", "error")},
    ),
}
