"""axe-core finds nothing wrong with the page, whatever it shows."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from slack_bolt import Ack
from slack_sdk import WebClient

from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from tests.browser.conftest import ALICE, TEAM_A, Played
from tests.browser.test_blocks import cells
from tests.browser.test_forms import FORM, SEARCHED, plain
from tests.playground.slack.bots import bolt_app, over_http

Json = dict[str, Any]

AXE = files("axe_playwright_python").joinpath("axe.min.js")
# Each element that breaks a rule; what axe cannot decide, as text over a gradient, does not count.
FOUND = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map((each) => `${id}: ${each.html}`)))"""

SCHEMES = ["light", "dark"]


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str) -> Json:
    return {"type": "section", "text": mrkdwn(text)}


STOP: Json = {
    "type": "button", "action_id": "stop", "text": plain("Stop"), "value": "7", "style": "danger",
    "confirm": {
        "title": plain("Stop lane?"), "text": plain("It ends."), "confirm": plain("Stop it"),
        "deny": plain("Cancel"),
    },
}  # fmt: skip
LOGS: Json = {"type": "button", "action_id": "logs", "text": plain("Logs"), "style": "primary"}
PIE = {"type": "pie", "segments": [{"label": "a", "value": 1}, {"label": "b", "value": 3}]}
CARD: list[Json] = [
    {"type": "header", "text": plain("▶️ lane · Running")},
    {"type": "section", "text": mrkdwn("*epoch 1* `loss 0.3` <@U0ALICE> <https://a.example|W&amp;B>")},
    {"type": "section", "fields": [mrkdwn("*Owner*\n<@U0BOB>"), mrkdwn("*GPUs*\n2")]},
    {"type": "table", "rows": [cells("queue", "GPUs"), cells("team-a", 4)]},
    {"type": "section", "text": mrkdwn("```" + "epoch 1\n" * 60 + "```")},
    {"type": "data_visualization", "title": "Share", "chart": PIE},
    {"type": "actions", "elements": [LOGS, STOP]},
    {"type": "context", "elements": [mrkdwn("Submitted <!date^1700000000^{date_num}|then>")]},
]  # fmt: skip
ROWS = [cells("run", "GPUs"), *(cells(f"run-{n}", n) for n in range(7))]
DATA = {"type": "data_table", "caption": "Runs", "rows": ROWS, "page_size": 3}


def violations(page: Played) -> list[str]:
    """What axe-core finds; it is loaded by the browser itself, past the page's policy."""
    if not page.tab.ask("typeof axe === 'object'"):
        page.tab.ask(f"{AXE.read_text('utf-8')}; true")
    found: list[str] = page.tab.ask(FOUND)
    return found


def posts(page: Played, blocks: list[Json], **more: Any) -> Message:
    named = [{"block_id": f"b{number}", **block} for number, block in enumerate(blocks)]
    message = Message(TEAM_A, "", BOT_USER, "a card", blocks=named, **more)
    return page.slack.call(lambda: post(page.world.slack, message))


@pytest.fixture(params=SCHEMES)
def shown(request: pytest.FixtureRequest, opened: Played) -> Played:
    """The page with a card, in each colour scheme."""
    opened.tab.prefers(request.param)
    posts(opened, CARD)
    posts(opened, [DATA])
    posts(opened, [section("Only for you")], viewer=ALICE)
    opened.tab.until("document.querySelectorAll('.item').length >= 3")
    return opened


def test_chat_and_panel_break_no_rule(shown: Played) -> None:
    shown.tab.until("document.querySelector('.node')")
    shown.tab.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert violations(shown) == []


def test_threads_break_no_rule(shown: Played) -> None:
    card = posts(shown, CARD)
    posts(shown, CARD[:3], thread_ts=card.ts)
    shown.tab.click(".replies", "1 reply")
    shown.tab.until("document.querySelectorAll('.thread .item').length === 2")
    assert violations(shown) == []


def test_questions_before_clicks_break_no_rule(shown: Played) -> None:
    shown.tab.click(".message .button", "Stop")
    shown.tab.until("document.querySelector('dialog.confirm[open]')")
    assert violations(shown) == []


def test_commands_that_are_listed_break_no_rule(shown: Played) -> None:
    shown.tab.click(".composer textarea")
    shown.tab.type("/")
    shown.tab.until("document.querySelectorAll('.suggestions li').length > 1")
    assert violations(shown) == []


@pytest.fixture
def bot(shown: Played) -> Iterator[Played]:
    """The page with a bot that opens a form, finds it wrong, and publishes a Home tab."""
    app = bolt_app(shown.slack)
    app.command("/train")(opens_form)
    app.view("run")(refuses)
    app.event("app_home_opened")(publishes)
    with over_http(shown.slack, app):
        yield shown


def opens_form(ack: Ack, command: Json, client: WebClient) -> None:
    blocks = [*FORM["blocks"], SEARCHED | {"optional": True, "hint": plain("One of the team's.")}]
    client.views_open(trigger_id=command["trigger_id"], view={**FORM, "blocks": blocks})
    ack()


def refuses(ack: Ack) -> None:
    ack(response_action="errors", errors={"name": "lane runs already."})


def publishes(event: Json, client: WebClient) -> None:
    blocks = [block for block in CARD if block["type"] != "table"]  # Slack takes none in Home
    client.views_publish(user_id=event["user"], view={"type": "home", "blocks": blocks})


def test_forms_with_errors_break_no_rule(bot: Played) -> None:
    tab = bot.tab
    tab.click(".composer textarea")
    tab.type("/train submit")
    tab.press("Enter")
    tab.until("document.querySelector('dialog.form[open]')")
    assert violations(bot) == []
    tab.type("lane")
    tab.ask("document.querySelector('dialog select').value = 'small'")
    tab.click("dialog button[type=submit]")
    tab.until("document.querySelector('dialog [aria-invalid]')")
    assert violations(bot) == []


def test_home_breaks_no_rule(bot: Played) -> None:
    bot.tab.click(".place", "Quartermaster")
    bot.tab.click("[role=tab]", "Home")
    bot.tab.until("document.querySelector('.home .button')")
    assert violations(bot) == []


def test_phones_break_no_rule(shown: Played) -> None:
    tab = shown.tab
    tab.resize(390, 844, is_phone=True)
    tab.open(shown.url)
    tab.until("document.querySelectorAll('.item').length >= 3")
    tab.until("document.querySelector('#open-sidebar').getClientRects().length")
    assert violations(shown) == []
    tab.click("#open-sidebar")
    tab.until("document.querySelector('#sidebar').getClientRects().length")
    assert violations(shown) == []
    tab.click(".place", "team-a")
    tab.click("#open-outside")
    tab.until("document.querySelector('#outside').getClientRects().length")
    assert violations(shown) == []
