"""The transcript and the HTML page: what was seen, by whom, safely escaped."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from playground.clock import VirtualClock
from playground.ledger import Ledger
from playground.slack.installed import Installed
from playground.slack.limits import checked_blocks
from playground.slack.page import page, write_page
from playground.slack.page_text import markdown, rich
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import Change, edit, post
from playground.slack.workspace import Workspace

TEAM_A = "C0TEAMA"
ALICE, CAROL = "U0ALICE", "U0CAROL"
Block = dict[str, Any]


@pytest.fixture
def workspace() -> Workspace:
    made = Workspace(VirtualClock(), Ledger(), base_url="http://127.0.0.1:1")
    made.app = Installed(commands={"/train": True})
    return made


def said(workspace: Workspace, text: str, **fields: Any) -> Message:
    """A message of the bot in #team-a."""
    return post(workspace, Message(TEAM_A, "", BOT_USER, text, **fields))


def test_transcript_tells_place_person_and_notified(workspace: Workspace) -> None:
    lines: list[str] = []
    workspace.transcript.printer = lambda line: lines.append(line[14:])
    card = said(workspace, "lane is <b>\nrunning")
    said(workspace, "<@U0ALICE> lane has ended", thread_ts=card.ts)
    edit(workspace, card, Change(text="lane is <b>\nended"))
    said(workspace, "for you", viewer=CAROL)
    assert lines == [
        f"#team-a          Quartermaster: lane is <b>\n{'':29}running",
        f"#team-a >        Quartermaster: @Alice lane has ended\n{'':29}(notifies Alice)",
        "#team-a          Quartermaster (edited): ended",
        "#team-a          Quartermaster (only Carol sees it): for you",
    ]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _it_ ~no~", "<b>bold</b> <i>it</i> <s>no</s>"),
        ("2*3*4 snake_case_name", "2*3*4 snake_case_name"),
        ("`*x*` &lt;b&gt;", "<code>*x*</code> &lt;b&gt;"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<javascript:alert(1)|x>", "&lt;javascript:alert(1)|x&gt;"),
        ("<@U0ALICE> in <#C0TEAMA>", None),
        ("*<https://a.io/?b=1&amp;c=2|docs>*", None),
        ("```a < b\nc```done", "<pre>a &lt; b\nc</pre>done"),
        ("&gt; one\n&gt; two\nthree", "<blockquote>one<br>two</blockquote>three"),
        (":warning: :nosuch:", '<span style="color:#b7791f">⚠</span> :nosuch:'),
        ("<!date^0^{date_num} {time}|then>", "<time>1970-01-01 00:00 UTC</time>"),
        ("<!here>", '<span class="mention">@here</span>'),
    ],
)
def test_mrkdwn_becomes_safe_html(workspace: Workspace, text: str, html: str | None) -> None:
    links = {
        "<@U0ALICE> in <#C0TEAMA>": (
            '<span class="mention">@Alice</span> in <span class="mention">#team-a</span>'
        ),
        "*<https://a.io/?b=1&amp;c=2|docs>*": (
            '<b><a href="https://a.io/?b=1&amp;c=2">docs</a></b>'
        ),
    }
    assert rich(text, workspace) == (html or links[text])


def test_markdown_headings_and_links_become_html(workspace: Workspace) -> None:
    text = "# Title\n**bold** and [docs](https://a.io)"
    assert markdown(text, workspace) == (
        '<b>Title</b><br><b>bold</b> and <a href="https://a.io">docs</a>'
    )


def button(label: str, action: str, **more: Any) -> Block:
    """A button."""
    text = {"type": "plain_text", "text": label}
    return {"type": "button", "action_id": action, "text": text, **more}


def card(state: str, *elements: Block) -> list[Block]:
    """A run's card, with every common kind of block."""
    fields = [
        {"type": "mrkdwn", "text": "*GPUs*\n2 of H100"},
        {"type": "mrkdwn", "text": "*Elapsed*\n4 min 10 s"},
        {"type": "mrkdwn", "text": "*Started*\n<!date^1700000000^{date_short_pretty} {time}|then>"},
        {"type": "mrkdwn", "text": "*Progress*\nepoch 2 of 3"},
    ]
    cells = [["GPU", "Use"], ["H100", "93 %"], ["A100", "0 %"]]
    rows = [[{"type": "raw_text", "text": cell} for cell in row] for row in cells]
    blocks: list[Block] = [
        {"type": "header", "text": {"type": "plain_text", "text": f"lane · {state}"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "*Training run* by <@U0ALICE>\n`lane:3.1`"},
        },
        {"type": "section", "fields": fields},
        {"type": "section", "text": {"type": "mrkdwn", "text": "```step 120 loss=0.41```"}},
        {"type": "divider"},
        {"type": "table", "rows": rows},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": ":hourglass: queue team-a"}]},
    ]
    return checked_blocks(
        [*blocks, {"type": "actions", "elements": list(elements)}] if elements else blocks
    )


def digest() -> list[Block]:
    """A chart of GPU hours."""
    data = [{"label": "team-a", "value": 41}, {"label": "team-b", "value": 96.5}]
    chart = {
        "type": "bar",
        "series": [{"name": "H100", "data": data}],
        "axis_config": {"categories": ["team-a", "team-b"]},
    }
    block = {"type": "data_visualization", "title": "GPU hours yesterday", "chart": chart}
    return checked_blocks([block])


async def told_story(workspace: Workspace) -> None:
    """A short story that uses what the page can show."""
    await workspace.slash(ALICE, TEAM_A, "/train submit lane --gpus 2 -- python train.py")
    said(workspace, "Submitted *lane*. The card below follows it.", viewer=ALICE)
    buttons = (
        button("Logs", "logs", style="primary"),
        button("Stop", "stop", style="danger"),
        button("Resubmit", "again"),
    )
    run = said(workspace, "lane", blocks=card("Pending", *buttons))
    await workspace.clock.move_to(workspace.clock.now() + timedelta(minutes=4))
    edit(workspace, run, Change(blocks=card("Running", *buttons)))
    said(workspace, "Pulled the image in 12 s.", thread_ts=run.ts)
    edit(workspace, run, Change(blocks=card("Failed", buttons[2])))
    said(
        workspace,
        "<@U0ALICE> *lane* failed: `CUDA out of memory`.",
        thread_ts=run.ts,
        broadcast=True,
    )
    await workspace.mention(CAROL, TEAM_A, "why lane")
    post(workspace, Message("C0DAILY", "", BOT_USER, "digest", blocks=digest()))
    post(workspace, Message(workspace.im(ALICE).id, "", BOT_USER, "Your request was *approved*."))


def test_page_shows_who_sees_what(workspace: Workspace, tmp_path: Path) -> None:
    asyncio.run(told_story(workspace))
    path = tmp_path / "slack.html"
    write_page(workspace, path)
    html = path.read_text(encoding="utf-8")
    for part in (
        "# team-a<small>Alice, Carol, Dan, Erin</small>",
        "Alice typed <code>/train submit lane --gpus 2 -- python train.py</code>",
        "Only visible to Alice",
        "<h3>lane · Failed</h3>",
        "(edited 2 times)",
        "<p>2 replies</p>",
        "notified Alice",
        '<span class="button ">Resubmit</span>',
        "<pre>step 120 loss=0.41</pre>",
        "<b>GPU hours yesterday</b>",
        "Direct messages <small>Alice and the app</small>",
    ):
        assert part in html
    assert "http://" not in html
    assert "<script" not in html


def test_page_escapes_what_people_write(workspace: Workspace) -> None:
    workspace.channels[TEAM_A].name = "<b>"
    asyncio.run(workspace.slash(ALICE, TEAM_A, "/train <script>alert(1)</script>"))
    html = page(workspace, "<i>")
    assert "<script" not in html
    assert "<i>" not in html
