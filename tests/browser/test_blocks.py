"""Blocks in a browser: tables, charts, pictures, files, rich text."""

from typing import Any

from playground.slack.files import File
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from tests.browser.conftest import TEAM_A, Played

Json = dict[str, Any]
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cf50000003060180a2f5d4e40000000049454e44ae426082"
)


def posts(page: Played, *blocks: Json, **more: Any) -> None:
    named = [{"block_id": f"b{number}", **block} for number, block in enumerate(blocks)]
    message = Message(TEAM_A, "", BOT_USER, "", blocks=named, **more)
    page.slack.call(lambda: post(page.world.slack, message))


def cells(*texts: str | int) -> list[Json]:
    return [
        {"type": "raw_text", "text": each}
        if isinstance(each, str)
        else {"type": "raw_number", "value": each, "text": str(each)}
        for each in texts
    ]


def test_data_tables_have_pages_and_sort(opened: Played) -> None:
    tab = opened.tab
    rows = [cells("run", "GPUs"), *(cells(f"run-{n}", 7 * n % 8) for n in range(7))]
    posts(opened, {"type": "data_table", "caption": "Runs", "rows": rows, "page_size": 3})
    cell = "[...each.cells].map((cell) => cell.textContent).join()"
    shown = f"[...document.querySelectorAll('tbody tr')].map((each) => {cell}).join('; ')"
    assert tab.until(f"{shown} && {shown}") == "run-0,0; run-1,7; run-2,6"
    tab.click(".pages [aria-label='Next rows']")
    assert tab.ask(shown) == "run-3,5; run-4,4; run-5,3"
    assert tab.text(".pages").startswith("4-6 of 7")
    tab.click(".sort", "GPUs")
    assert tab.ask(shown) == "run-0,0; run-6,2; run-5,3"
    tab.click(".sort", "GPUs")
    assert tab.ask(shown) == "run-1,7; run-2,6; run-3,5"
    assert tab.ask("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == (
        "descending"
    )


def test_charts_are_drawn_and_readable(opened: Played) -> None:
    tab = opened.tab
    axis = {"categories": ["Mon", "Tue"], "y_label": "GPU-hours"}
    data = [{"label": "Mon", "value": 3}, {"label": "Tue", "value": 6}]
    series = [{"name": "team-a", "data": data}]
    bar = {"type": "bar", "series": series, "axis_config": axis}
    pie = {"type": "pie", "segments": [{"label": "a", "value": 1}, {"label": "b", "value": 3}]}
    for title, chart in (("Hours", bar), ("Lines", {**bar, "type": "line"}), ("Share", pie)):
        posts(opened, {"type": "data_visualization", "title": title, "chart": chart})
    labels = "[...document.querySelectorAll('svg')].map((each) => each.getAttribute('aria-label'))"
    assert tab.until(f"{labels}.length === 3 && {labels}") == [
        "Hours. team-a, Mon: 3; team-a, Tue: 6",
        "Lines. team-a, Mon: 3; team-a, Tue: 6",
        "Share. a 1; b 3",
    ]
    heights = "[...document.querySelectorAll('rect')].map((each) => each.getBBox().height)"
    low, high = tab.ask(heights)
    assert round(high / low, 3) == 2


def test_pictures_and_files_are_shown(opened: Played) -> None:
    tab, slack = opened.tab, opened.world.slack
    log = File("F2", "lane.log", 12, b"<b>epoch</b>", title="lane.log", is_complete=True)
    slack.files["F1"] = File("F1", "use.png", len(PIXEL), PIXEL, is_complete=True)
    slack.files["F2"] = log
    elsewhere = {"type": "image", "alt_text": "from elsewhere", "image_url": "https://a.example/x"}
    mine = {"type": "image", "alt_text": "GPUs by hour", "slack_file": {"id": "F1"}}
    posts(opened, mine, elsewhere, files=[log])
    tab.until("document.querySelector('img[alt=\"GPUs by hour\"]')?.naturalWidth === 1")
    assert tab.text("a.elsewhere") == "from elsewhere"
    tab.click("summary", "lane.log")
    assert tab.until("document.querySelector('.file pre').innerText !== '…'")
    assert tab.text(".file pre") == "<b>epoch</b>"


def test_rich_text_reads_as_there(opened: Played) -> None:
    bold: Json = {"type": "text", "text": "bold", "style": {"bold": True}}
    said: Json = {"type": "text", "text": " <i>no</i>"}
    section = {"type": "rich_text_section", "elements": [bold, said]}
    listed = {"type": "rich_text_list", "style": "ordered", "elements": [section, section]}
    pre = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "a\nb"}]}
    posts(opened, {"type": "rich_text", "elements": [section, listed, pre]})
    html = opened.tab.until("document.querySelector('.message .text')?.innerHTML")
    item = "<b>bold</b> &lt;i&gt;no&lt;/i&gt;"
    assert html == (
        f'<div>{item}</div><ol style="margin-inline-start: 0px;"><li>{item}</li>'
        f'<li>{item}</li></ol><pre tabindex="0">a<br>b</pre>'
    )
