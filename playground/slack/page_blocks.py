"""Blocks as HTML, the way Slack lays them out."""

from collections.abc import Callable, Iterable
from html import escape

from playground.slack.mrkdwn import Names, cell_text, inline
from playground.slack.page_text import emoji, literal, markdown, rich
from playground.slack.shapes import Json

PAGE_SIZE = 5


def blocks_html(blocks: Iterable[Json], names: Names) -> str:
    """All blocks of a message or view."""
    return "".join(_BLOCKS[block["type"]](block, names) for block in blocks)


def _text(value: Json, names: Names) -> str:
    if value["type"] == "mrkdwn":
        return rich(value["text"], names)
    return emoji(literal(value["text"])).replace("\n", "<br>")


def _section(block: Json, names: Names) -> str:
    text = f"<div>{_text(block['text'], names)}</div>" if block.get("text") else ""
    fields = "".join(f"<div>{_text(field, names)}</div>" for field in block.get("fields", ()))
    grid = f'<div class="fields">{fields}</div>' if fields else ""
    beside = _element(block["accessory"], names) if block.get("accessory") else ""
    return f'<div class="section"><div class="grow">{text}{grid}</div>{beside}</div>'


def _element(element: Json, names: Names) -> str:
    kind = element["type"]
    if kind == "button":
        dialog = element.get("confirm")
        asks = f' title="asks: {escape(dialog["text"]["text"])}"' if dialog else ""
        style = element.get("style", "")
        return f'<span class="button {style}"{asks}>{_text(element["text"], names)}</span>'
    if kind in ("mrkdwn", "plain_text"):
        return f"<span>{_text(element, names)}</span>"
    if kind == "image":
        return f'<span class="picture">{escape(element["alt_text"])}</span>'
    shown = element.get("placeholder", {}).get("text", "⋯" if kind == "overflow" else "Choose")
    return f'<span class="button menu">{escape(shown)} ▾</span>'


def _row(name: str) -> Callable[[Json, Names], str]:
    def row(block: Json, names: Names) -> str:
        inner = "".join(_element(element, names) for element in block["elements"])
        return f'<div class="{name}">{inner}</div>'

    return row


def _image(block: Json, names: Names) -> str:
    title = f"<div>{_text(block['title'], names)}</div>" if block.get("title") else ""
    alt, source = escape(block["alt_text"]), block.get("image_url", "")
    if source.startswith("data:image/"):
        return f'{title}<img class="shown" src="{escape(source)}" alt="{alt}">'
    return f'{title}<div class="image">{alt}</div>'


def _table(block: Json, names: Names) -> str:
    columns = [setting or {} for setting in block.get("column_settings", ())]
    rows = "".join(_table_row(row, columns, names) for row in block["rows"])
    return f'<div class="scroll"><table>{rows}</table></div>'


def _data_table(block: Json, names: Names) -> str:
    header, *body = block["rows"]
    shown = body[: block.get("page_size", PAGE_SIZE)]
    rows = "".join(_table_row(row, [], names) for row in (header, *shown))
    caption = f"<caption>{escape(block['caption'])}</caption>"
    pages = f"1-{len(shown)} of {len(body)}" if len(shown) < len(body) else f"{len(body)} rows"
    return (
        f'<div class="scroll"><table class="data">{caption}{rows}</table></div>'
        f'<div class="pages">{pages}</div>'
    )


def _table_row(row: list[Json], columns: list[Json], names: Names) -> str:
    cells = []
    for index, cell in enumerate(row):
        default = "right" if cell["type"] == "raw_number" else "left"
        align = columns[index].get("align", default) if index < len(columns) else default
        cells.append(f'<td class="{align}">{_cell(cell, names)}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _cell(cell: Json, names: Names) -> str:
    return (
        _rich_text(cell, names) if cell["type"] == "rich_text" else escape(cell_text(cell, names))
    )


def _rich_text(block: Json, names: Names) -> str:
    return "".join(_rich_part(part, names) for part in block["elements"])


def _rich_part(part: Json, names: Names) -> str:
    if part["type"] == "rich_text_list":
        tag = "ol" if part["style"] == "ordered" else "ul"
        items = "".join(f"<li>{_inlines(item, names)}</li>" for item in part["elements"])
        return f"<{tag}>{items}</{tag}>"
    tags = {"rich_text_preformatted": "pre", "rich_text_quote": "blockquote"}
    tag = tags.get(part["type"], "div")
    return f"<{tag}>{_inlines(part, names)}</{tag}>"


def _inlines(part: Json, names: Names) -> str:
    return "".join(_inline(element, names) for element in part["elements"])


def _inline(element: Json, names: Names) -> str:
    text = emoji(escape(inline(element, names))).replace("\n", "<br>")
    if element["type"] in ("user", "usergroup", "channel", "broadcast"):
        return f'<span class="mention">{text}</span>'
    if element["type"] == "link" and element["url"].startswith(("http", "mailto:")):
        return f'<a href="{escape(element["url"])}">{text}</a>'
    for style, tag in (("bold", "b"), ("italic", "i"), ("strike", "s"), ("code", "code")):
        if element.get("style", {}).get(style):
            text = f"<{tag}>{text}</{tag}>"
    return text


def _chart(block: Json, _names: Names) -> str:
    chart = block["chart"]
    if chart["type"] == "pie":
        points = [(each["label"], "", each["value"]) for each in chart["segments"]]
    else:
        points = [
            (point["label"], series["name"], point["value"])
            for series in chart["series"]
            for point in series["data"]
        ]
    top = max((abs(value) for _, _, value in points), default=1) or 1
    bars = "".join(_bar(label, series, value, top) for label, series, value in points)
    return f'<div class="chart"><b>{escape(block["title"])}</b>{bars}</div>'


def _bar(label: str, series: str, value: float, top: float) -> str:
    width = round(100 * abs(value) / top)
    told = escape(f"{label} · {series}" if series else label)
    return (
        f'<div class="bar"><span>{told}</span>'
        f'<i style="width:{width * 0.55:.0f}%"></i><em>{value:g}</em></div>'
    )


def _input(block: Json, names: Names) -> str:
    hint = f"<small>{_text(block['hint'], names)}</small>" if block.get("hint") else ""
    element = block["element"]
    held = element.get("initial_value") or element.get("placeholder", {}).get("text", "")
    option = " <small>(optional)</small>" if block.get("optional") else ""
    label = _text(block["label"], names)
    return f'<div class="input"><b>{label}</b>{option}<div>{escape(held)}&nbsp;</div>{hint}</div>'


def _task(block: Json, _names: Names) -> str:
    signs = {"complete": ":white_check_mark:", "error": ":x:"}
    sign = signs.get(block["status"], ":hourglass:")
    return f'<div class="task">{emoji(sign)} {escape(block["title"])}</div>'


_BLOCKS: dict[str, Callable[[Json, Names], str]] = {
    "section": _section,
    "header": lambda block, names: f"<h3>{_text(block['text'], names)}</h3>",
    "context": _row("context"),
    "actions": _row("actions"),
    "divider": lambda _block, _names: "<hr>",
    "image": _image,
    "markdown": lambda block, names: f"<div>{markdown(block['text'], names)}</div>",
    "rich_text": _rich_text,
    "table": _table,
    "data_table": _data_table,
    "data_visualization": _chart,
    "input": _input,
    "alert": lambda block, names: f'<div class="task">{_text(block["text"], names)}</div>',
    "task_card": _task,
}
