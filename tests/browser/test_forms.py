"""Forms in a browser: fields, errors beside them, stacks, and dialogs that ask first."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from slack_bolt import Ack, App
from slack_sdk import WebClient

from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from tests.browser.conftest import TEAM_A, Played
from tests.playground.slack.bots import bolt_app, over_http
from tests.playground.slack.served import Served

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def option(text: str) -> Json:
    return {"text": plain(text), "value": text.lower()}


def field(name: str, kind: str, **more: Any) -> Json:
    optional = more.pop("optional", False)
    element = {"type": kind, "action_id": "value", **more}
    label = plain(name.capitalize())
    return {
        "type": "input", "block_id": name, "label": label, "element": element, "optional": optional,
    }  # fmt: skip


FORM: Json = {
    "type": "modal",
    "callback_id": "run",
    "title": plain("Submit a run"),
    "submit": plain("Submit"),
    "notify_on_close": True,
    "blocks": [
        field("name", "plain_text_input"),
        field("size", "static_select", options=[option("Big"), option("Small")]),
        field("flags", "checkboxes", options=[option("Fast"), option("Cheap")], optional=True),
        field("day", "datepicker", initial_date="2026-11-26"),
        {"type": "alert", "block_id": "note", "level": "info", "text": plain("GPUs are shared.")},
    ],
}


SEARCHED: Json = {
    **field("dataset", "external_select", min_query_length=2),
    "dispatch_action": True,
}


class Bot:
    """What the bot was sent."""

    def __init__(self, app: App, slack: Served) -> None:
        self._slack = slack
        self.values: list[Json] = []
        self.clicks: list[str] = []
        self.closed: list[str] = []
        self.shortcuts: list[tuple[str, str | None]] = []
        app.shortcut(re.compile(""))(self._shortcut)
        app.command("/train")(self._train)
        app.view("run")(self._run)
        app.view_closed("run")(self._closed)
        app.action("go")(self._go)
        app.options("value")(self._search)
        app.action("value")(self._changes)

    def _train(self, ack: Ack, command: Json, client: WebClient) -> None:
        blocks = [FORM["blocks"][0], SEARCHED] if command["text"] == "search" else FORM["blocks"]
        client.views_open(trigger_id=command["trigger_id"], view={**FORM, "blocks": blocks})
        ack()

    def _run(self, ack: Ack, view: Json) -> None:
        values = view["state"]["values"]
        self.values.append(values)
        if values["name"]["value"]["value"] == "lane":
            ack(response_action="errors", errors={"name": "lane runs already."})
        elif values["name"]["value"]["value"] == "more":
            above = {**FORM, "title": plain("Are you sure?"), "callback_id": "sure", "blocks": []}
            ack(response_action="push", view=above)
        else:
            ack()

    def _shortcut(self, ack: Ack, body: Json) -> None:
        ack()
        self.shortcuts.append((body["callback_id"], body.get("message", {}).get("ts")))
        self._changed()

    def _changed(self) -> None:
        """Wakes tests that wait for what the bot was sent."""
        self._slack.call(self._slack.workspace.changed)

    def _search(self, ack: Ack, payload: Json) -> None:
        names = [name for name in ("ImageNet", "Image", "Lanes") if payload["value"] in name]
        ack(options=[option(name) for name in names])

    def _changes(self, ack: Ack, body: Json, client: WebClient) -> None:
        ack()
        view = body["view"]
        chosen = body["actions"][0]["selected_option"]["value"]
        note = {"type": "alert", "block_id": "size", "text": plain(f"{chosen} holds 140 GiB.")}
        shown = {**FORM, "blocks": [FORM["blocks"][0], SEARCHED, note]}
        client.views_update(view_id=view["id"], hash=view["hash"], view=shown)

    def _closed(self, ack: Ack, view: Json) -> None:
        ack()
        self.closed.append(view["title"]["text"])
        self._changed()

    def _go(self, ack: Ack, action: Json) -> None:
        ack()
        chosen = action.get("selected_option", {}).get("value")
        self.clicks.append(chosen or action["value"])
        self._changed()


@pytest.fixture
def bot(opened: Played) -> Iterator[Bot]:
    app = bolt_app(opened.slack)
    bot = Bot(app, opened.slack)
    with over_http(opened.slack, app):
        yield bot


def opens_form(page: Played, command: str = "submit") -> None:
    page.tab.click(".composer textarea")
    page.tab.type(f"/train {command}")
    page.tab.press("Enter")
    page.tab.until("document.querySelector('dialog.form[open]')")


def test_form_is_filled_and_sent(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    opens_form(opened)
    assert tab.text("dialog h2") == "Submit a run"
    assert tab.ask("document.querySelector('dialog').matches(':modal')") is True
    named = (
        "document.getElementById(document.querySelector('dialog').getAttribute('aria-labelledby'))"
    )
    assert tab.ask(f"{named}.innerText") == "Submit a run"
    tab.type("wide")
    tab.ask("document.querySelector('dialog select').value = 'big'")
    tab.click("dialog .boxes label", "Fast")
    tab.press("Enter")
    tab.until("!document.querySelector('dialog')")
    (values,) = bot.values
    assert {name: next(iter(each.values())) for name, each in values.items()} == {
        "name": {"type": "plain_text_input", "value": "wide"},
        "size": {"type": "static_select", "selected_option": option("Big")},
        "flags": {"type": "checkboxes", "selected_options": [option("Fast")]},
        "day": {"type": "datepicker", "selected_date": "2026-11-26"},
    }
    assert tab.until("document.activeElement.className === 'write'")


def test_errors_stand_beside_their_fields(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    opens_form(opened)
    tab.type("lane")
    tab.press("Enter")
    shown = "[...document.querySelectorAll('.field .error:not([hidden])')].map((e) => e.innerText)"
    assert tab.until(f"{shown}.length && {shown}") == ["Please complete this required field."]
    assert tab.ask("document.activeElement.tagName") == "SELECT"
    assert bot.values == []
    tab.ask("document.querySelector('dialog select').value = 'small'")
    tab.click("dialog button[type=submit]")
    assert tab.until(f"{shown}[0]?.startsWith('lane') && {shown}") == ["lane runs already."]
    invalid = "document.querySelector('dialog [aria-invalid]')"
    assert tab.ask(f"document.activeElement === {invalid}") is True
    described = f"document.getElementById({invalid}.getAttribute('aria-describedby'))"
    assert tab.ask(f"{described}.innerText") == "lane runs already."
    tab.type("2")
    tab.until(f"!{invalid}")


def test_forms_lie_on_each_other(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    opens_form(opened)
    tab.type("more")
    tab.ask("document.querySelector('dialog select').value = 'small'")
    tab.click("dialog button[type=submit]")
    tab.until("document.querySelector('dialog h2').innerText === 'Are you sure?'")
    tab.press("Escape")
    tab.until("document.querySelector('dialog h2').innerText === 'Submit a run'")
    assert tab.ask("document.querySelector('dialog input').value") == "more"
    tab.press("Escape")
    tab.until("!document.querySelector('dialog')")
    opened.slack.until(lambda: bot.closed == ["Submit a run"])


def test_options_are_searched_and_told_at_once(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    opens_form(opened, "search")
    tab.type("wide")
    tab.click(".searched input")
    tab.type("Image")
    found = "[...document.querySelectorAll('.found li')].map((each) => each.innerText)"
    assert tab.until(f"{found}.length && {found}") == ["ImageNet", "Image"]
    tab.press("ArrowDown")
    tab.press("ArrowUp")
    tab.press("Enter")
    assert tab.text("dialog .alert:not(.error)") == "imagenet holds 140 GiB."
    fields = "[...document.querySelectorAll('dialog input')].map((each) => each.value)"
    assert tab.ask(fields) == ["wide", "ImageNet"]
    tab.click("dialog button[type=submit]")
    tab.until("!document.querySelector('dialog')")
    (values,) = bot.values
    assert values["dataset"]["value"] == {
        "type": "external_select",
        "selected_option": option("ImageNet"),
    }


def test_dialogs_ask_before_a_click(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    asks = {
        "title": plain("Stop lane?"), "text": plain("It frees 6 GPUs."),
        "confirm": plain("Stop it"), "deny": plain("Keep it"), "style": "danger",
    }  # fmt: skip
    stop = {
        "type": "button",
        "action_id": "go",
        "text": plain("Stop"),
        "value": "x",
        "confirm": asks,
    }
    row = {"type": "actions", "block_id": "a", "elements": [stop]}
    opened.slack.call(
        lambda: post(opened.world.slack, Message(TEAM_A, "", BOT_USER, "", blocks=[row]))
    )
    tab.click(".message .button", "Stop")
    said = tab.text("dialog.confirm")
    assert [line for line in said.splitlines() if line] == [
        "Stop lane?", "It frees 6 GPUs.", "Keep it", "Stop it",
    ]  # fmt: skip
    tab.press("Escape")
    tab.until("!document.querySelector('dialog')")
    assert tab.until("document.activeElement.innerText") == "Stop"
    tab.click(".message .button", "Stop")
    tab.click("dialog .button", "Stop it")
    opened.slack.until(lambda: bot.clicks == ["x"])


def test_menus_are_used_by_keys(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    options = [option("Pin"), option("Evict")]
    menu = {"type": "overflow", "action_id": "go", "options": options}
    text = {"type": "mrkdwn", "text": "a cache"}
    section = {"type": "section", "block_id": "s", "text": text, "accessory": menu}
    opened.slack.call(
        lambda: post(opened.world.slack, Message(TEAM_A, "", BOT_USER, "", blocks=[section]))
    )
    tab.until("document.querySelector('.overflow')")
    tab.ask("document.querySelector('.overflow').focus()")
    tab.press("Enter")
    assert tab.until("document.activeElement.getAttribute('role')") == "menuitem"
    tab.press("Escape")
    assert tab.ask("document.activeElement.className") == "button overflow"
    tab.press("Enter")
    tab.press("ArrowDown")
    tab.press("Enter")
    opened.slack.until(lambda: bot.clicks == ["evict"])


def test_shortcuts_are_in_both_menus(opened: Played, bot: Bot) -> None:
    tab = opened.tab
    tab.click(".composer [aria-label='Shortcuts']")
    tab.click(".menu button", "Submit training")
    opened.slack.until(lambda: bot.shortcuts == [("submit-training", None)])
    card = Message(TEAM_A, "", BOT_USER, "a card")
    opened.slack.call(lambda: post(opened.world.slack, card))
    tab.until(f"document.querySelector('[data-ts=\"{card.ts}\"]')")
    tab.click(f"[data-ts='{card.ts}'] [aria-label='More actions of this message']")
    tab.click(".menu button", "Stop run")
    opened.slack.until(lambda: bot.shortcuts[1:] == [("stop-run", card.ts)])
