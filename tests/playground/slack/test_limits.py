"""Each limit of Block Kit: at the limit it passes, one beyond it is refused."""

from typing import Any

import pytest

from playground.slack.errors import SlackError
from playground.slack.limits import checked_blocks

Block = dict[str, Any]


def plain(length: int) -> Block:
    """A plain_text object of that many characters."""
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> Block:
    """A mrkdwn object of that many characters."""
    return {"type": "mrkdwn", "text": "x" * length}


def button(**changes: Any) -> Block:
    """A button."""
    return {"type": "button", "text": plain(1), **changes}


def actions(*elements: Block) -> Block:
    """An actions block."""
    return {"type": "actions", "elements": list(elements)}


def option(length: int = 1) -> Block:
    """An option with a label of that many characters."""
    return {"text": plain(length), "value": "v"}


def dialog(**changes: Any) -> Block:
    """A confirm dialog."""
    return {
        "title": plain(1),
        "text": plain(1),
        "confirm": plain(1),
        "deny": plain(1),
        **changes,
    }


def raw(length: int = 1) -> Block:
    """A table cell of that many characters."""
    return {"type": "raw_text", "text": "x" * length}


def table(*rows: list[Block], **changes: Any) -> Block:
    """A table."""
    return {"type": "table", "rows": list(rows), **changes}


def data_table(*rows: list[Block], **changes: Any) -> Block:
    """A data table."""
    return {"type": "data_table", "caption": "c", "rows": list(rows), **changes}


def chart(series: int = 1, points: int = 1, **changes: Any) -> Block:
    """A bar chart."""
    labels = [str(number) for number in range(points)]
    data = [{"label": label, "value": 1} for label in labels]
    body = {
        "type": "bar",
        "series": [{"name": str(number), "data": data} for number in range(series)],
        "axis_config": {"categories": labels},
        **changes,
    }
    return {"type": "data_visualization", "title": "t", "chart": body}


def pie(segments: int) -> Block:
    """A pie chart."""
    parts = [{"label": str(number), "value": 1} for number in range(segments)]
    return {
        "type": "data_visualization",
        "title": "t",
        "chart": {"type": "pie", "segments": parts},
    }


DIVIDER = {"type": "divider"}
RICH_CELL = {"type": "rich_text", "elements": []}

ACCEPTED: list[list[Block]] = [
    [DIVIDER] * 50,
    [{"type": "section", "text": mrkdwn(3000)}],
    [{"type": "section", "fields": [mrkdwn(1200)] * 10}],
    [{"type": "header", "text": plain(150)}],
    [{"type": "markdown", "text": "x" * 12_000}],
    [{"type": "context", "elements": [mrkdwn(1)] * 10}],
    [actions(*[button()] * 25)],
    [actions(button(text=plain(75), value="x" * 2000, action_id="x" * 255))],
    [actions(button(confirm=dialog(title=plain(100), text=plain(300), deny=plain(30))))],
    [actions({"type": "static_select", "options": [option(75)] * 100})],
    [actions({"type": "overflow", "options": [option()] * 5})],
    [{"type": "divider", "block_id": "x" * 255}],
    [table(*[[raw()] * 20] * 100)],
    [table([raw(5000)], [raw(5000)])],
    [data_table(*[[raw()] * 20] * 101)],
    [data_table([raw()], [RICH_CELL])],
    [data_table([raw()], [{"type": "raw_number", "value": 4.5, "text": "4.5"}], page_size=100)],
    [chart(series=6, points=20)] * 2,
    [pie(6)],
    [{"type": "image", "image_url": "https://a.io/b.png", "alt_text": "x"}],
    [{"type": "task_card", "task_id": "1", "title": "t", "status": "in_progress"}],
]

REFUSED: list[tuple[list[Block], str]] = [
    ([DIVIDER] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    (
        [{"type": "section", "text": mrkdwn(3001)}],
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ),
    (
        [{"type": "section", "text": mrkdwn(0)}],
        "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
    ),
    (
        [{"type": "section"}],
        "must provide one of: text, fields [json-pointer:/blocks/0]",
    ),
    (
        [{"type": "section", "fields": [mrkdwn(1)] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
    ),
    (
        [{"type": "section", "fields": [mrkdwn(2001)]}],
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    (
        [{"type": "header", "text": plain(151)}],
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    (
        [{"type": "header", "text": mrkdwn(1)}],
        "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
    ),
    (
        [{"type": "markdown", "text": "x" * 7000}, {"type": "markdown", "text": "x" * 5001}],
        "markdown must be less than 12001 characters [json-pointer:/blocks]",
    ),
    (
        [{"type": "context", "elements": [mrkdwn(1)] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ),
    (
        [actions(*[button()] * 26)],
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    ([actions()], "no less than 1 items allowed [json-pointer:/blocks/0/elements]"),
    (
        [actions(button(text=plain(76)))],
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    (
        [actions(button(value="x" * 2001))],
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    (
        [actions(button(style="warning"))],
        "must be one of primary, danger [json-pointer:/blocks/0/elements/0/style]",
    ),
    (
        [actions(button(confirm=dialog(text=plain(301))))],
        "must be less than 301 characters [json-pointer:/blocks/0/elements/0/confirm/text/text]",
    ),
    (
        [actions(button(confirm={"title": plain(1), "text": plain(1), "confirm": plain(1)}))],
        "missing required field: deny [json-pointer:/blocks/0/elements/0/confirm]",
    ),
    (
        [actions({"type": "static_select", "options": [option()] * 101})],
        "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    (
        [actions({"type": "overflow", "options": [option()] * 6})],
        "no more than 5 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    (
        [{"type": "divider", "block_id": "x" * 256}],
        "must be less than 256 characters [json-pointer:/blocks/0/block_id]",
    ),
    (
        [{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}],
        "block_id `a` already exists [json-pointer:/blocks/1/block_id]",
    ),
    (
        [actions(button(action_id="a"), button(action_id="a"))],
        "action_id `a` already exists for this block [json-pointer:/blocks/0]",
    ),
    (
        [{"type": "divider", "color": "red"}],
        "invalid additional property: color [json-pointer:/blocks/0/color]",
    ),
    ([{"type": "banner"}], "unsupported type: banner [json-pointer:/blocks/0/type]"),
    ([{}], "missing required field: type [json-pointer:/blocks/0]"),
    (
        [table([raw()]), table([raw()])],
        "only_one_table_allowed [json-pointer:/blocks]",
    ),
    (
        [table(*[[raw()]] * 101)],
        "no more than 100 items allowed [json-pointer:/blocks/0/rows]",
    ),
    (
        [table([raw()] * 21)],
        "no more than 20 items allowed [json-pointer:/blocks/0/rows/0]",
    ),
    (
        [table([raw(5000)], [raw(5001)])],
        "must be less than 10001 characters [json-pointer:/blocks/0/rows]",
    ),
    (
        [table([raw(), raw()], [raw()])],
        "all rows must have the same number of cells [json-pointer:/blocks/0/rows/1]",
    ),
    (
        [data_table([raw()])],
        "no less than 2 items allowed [json-pointer:/blocks/0/rows]",
    ),
    (
        [data_table([RICH_CELL], [raw()])],
        "unsupported type: rich_text [json-pointer:/blocks/0/rows/0/0/type]",
    ),
    (
        [data_table([raw()], [raw()], page_size=101)],
        "must be at most 100 [json-pointer:/blocks/0/page_size]",
    ),
    (
        [chart(series=7)],
        "no more than 6 items allowed [json-pointer:/blocks/0/chart/series]",
    ),
    (
        [chart(axis_config={"categories": ["other"]})],
        "labels must match axis categories [json-pointer:/blocks/0/chart/series/0/data]",
    ),
    ([pie(7)], "no more than 6 items allowed [json-pointer:/blocks/0/chart/segments]"),
    ([chart()] * 3, "no more than 2 data_visualization blocks allowed [json-pointer:/blocks]"),
    (
        [{"type": "image", "alt_text": "x"}],
        "must provide one of: image_url, slack_file [json-pointer:/blocks/0]",
    ),
]


@pytest.mark.parametrize("blocks", ACCEPTED, ids=lambda blocks: str(blocks[0]["type"]))
def test_blocks_at_the_limit_are_accepted(blocks: list[Block]) -> None:
    assert len(checked_blocks(blocks)) == len(blocks)


@pytest.mark.parametrize(("blocks", "said"), REFUSED)
def test_blocks_beyond_a_limit_are_refused(blocks: list[Block], said: str) -> None:
    with pytest.raises(SlackError) as caught:
        checked_blocks(blocks)
    assert caught.value.code == "invalid_blocks"
    assert caught.value.fields == {
        "errors": [said],
        "response_metadata": {"messages": [f"[ERROR] {said}"]},
    }


def test_all_text_together_has_a_cap() -> None:
    sections = [{"type": "section", "text": mrkdwn(2600)} for _ in range(5)]
    assert len(checked_blocks(sections)) == 5
    with pytest.raises(SlackError, match="msg_blocks_too_long"):
        checked_blocks([*sections, {"type": "section", "text": mrkdwn(1)}])


def test_block_not_rolled_out_here_is_refused() -> None:
    with pytest.raises(SlackError) as caught:
        checked_blocks([chart()], unsupported={"data_visualization"})
    assert caught.value.fields["errors"] == [
        "unsupported type: data_visualization [json-pointer:/blocks/0/type]"
    ]


def test_blocks_and_elements_get_ids() -> None:
    [block] = checked_blocks([actions(button())])
    assert len(block["block_id"]) == 6
    assert len(block["elements"][0]["action_id"]) == 6
