"""What workspaces with a paid plan have, in a browser: prompts, and steps of workflows."""

from collections.abc import Iterator
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient

from bot.app import commands
from bot.slack.grammar.manifest import manifest
from tests.browser.conftest import Played
from tests.browser.test_accessibility import violations
from tests.playground.slack.bots import bolt_app, over_http

Json = dict[str, Any]
PROMPTS = [
    {"title": "Show my team's runs", "message": "train list"},
    {"title": "What can I do here?", "message": "help"},
]
SHOWN = "[...document.querySelectorAll('.prompts button')].map((each) => each.innerText)"
ENDED = "document.querySelector('#outside .step')"


class Bot:
    """Suggests prompts, answers in threads, and keeps which steps are to end."""

    def __init__(self, app: App) -> None:
        self.tabs: list[str] = []
        self.steps: list[Json] = []
        app.event("app_home_opened")(self._opened)
        app.event("message")(self._answer)
        app.event("function_executed")(self._step)

    def _opened(self, event: Json, client: WebClient) -> None:
        self.tabs.append(event["tab"])
        about = {"channel_id": event["channel"], "prompts": PROMPTS}
        client.api_call("assistant.threads.setSuggestedPrompts", json=about)

    def _answer(self, event: Json, client: WebClient) -> None:
        if "bot_id" not in event:
            answer = f"the answer to {event['text']}"
            client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text=answer)

    def _step(self, event: Json) -> None:
        self.steps.append(event)


@pytest.fixture
def bot(page: Played) -> Iterator[Bot]:
    """A bot whose Slack app has all that `quartermaster manifest` can add; Alice is in #team-a."""
    paid = manifest(commands(), agent_view=True, workflow_steps=True)
    page.slack.call(lambda: page.world.slack.install(paid))
    app = bolt_app(page.slack)
    bot = Bot(app)
    with over_http(page.slack, app):
        page.tab.open(page.url)
        page.tab.until("document.querySelector('.composer textarea:enabled')")
        yield bot


def opens_workflow(page: Played) -> None:
    page.tab.click(".composer .plus")
    page.tab.click(".menu button", "Run a workflow: Request GPU quota")
    page.tab.until("document.querySelector('dialog.form[open]')")


def fills(page: Played) -> None:
    for label, text in (("GPUs", "8"), ("How long", "3d"), ("Reason", "CVPR deadline")):
        page.tab.click("dialog label", label)
        page.tab.type(text)


def ends(page: Played, bot: Bot, method: str, **more: Any) -> None:
    """Ends the step that the page began, as the bot does it."""
    page.slack.until(lambda: bot.steps)
    about = {"function_execution_id": bot.steps[0]["function_execution_id"], **more}
    page.slack.bot.api_call(f"functions.{method}", json=about)


def test_a_chosen_prompt_opens_its_thread(page: Played, bot: Bot) -> None:
    tab = page.tab
    assert tab.ask("document.querySelector('.prompts').hidden") is True
    tab.click(".place", "Quartermaster")
    assert tab.until(f"{SHOWN}.length === 2 && {SHOWN}") == [each["title"] for each in PROMPTS]
    assert bot.tabs == ["messages"]
    assert tab.text(".title .soft").startswith("Answers the commands of Quartermaster")
    tab.click(".prompts button", "Show my team's runs")
    tab.until("document.querySelectorAll('.thread .item').length === 2")
    read = "[...document.querySelectorAll('.thread .text')].map((each) => each.innerText)"
    assert tab.ask(read) == ["train list", "the answer to train list"]


def test_prompts_are_not_for_home_or_channels(page: Played, bot: Bot) -> None:
    tab = page.tab
    tab.click(".place", "Quartermaster")
    tab.until(f"{SHOWN}.length === 2")
    tab.click("[role=tab]", "Home")
    tab.until("document.querySelector('.prompts').hidden")
    page.slack.until(lambda: bot.tabs == ["messages", "home"])
    tab.click("[role=tab]", "Messages")
    tab.until("!document.querySelector('.prompts').hidden")
    tab.click(".place", "team-a")
    tab.until("document.querySelector('.prompts').hidden")


def test_free_workspaces_have_neither(opened: Played) -> None:
    tab = opened.tab
    tab.click(".composer .plus")
    assert "Request GPU quota" in tab.text(".menu")
    assert "workflow" not in tab.text(".menu")
    tab.press("Escape")
    tab.click(".place", "Quartermaster")
    tab.until("document.querySelector('.title h2').innerText === 'Quartermaster'")
    assert tab.ask("document.querySelector('.prompts').hidden") is True


def test_a_workflow_shows_what_its_step_returned(page: Played, bot: Bot) -> None:
    tab = page.tab
    opens_workflow(page)
    tab.click("dialog button[type=submit]")
    errors = "[...document.querySelectorAll('dialog .error:not([hidden])')]"
    assert tab.ask(f"{errors}.map((each) => each.innerText)") == (
        ["Please complete this required field."] * 3
    )
    fills(page)
    tab.press("Enter")
    tab.until("!document.querySelector('dialog')")
    assert tab.text(".step").split("\n")[:2] == ["Request GPU quota", "runs"]
    tab.click(".person", "Carol")
    tab.until("document.querySelector('.person[aria-pressed=true] .name')?.innerText === 'Carol'")
    outputs = {"decision": "approved", "decided_by": "<@U0CAROL>", "length": "3d", "number": "4f09"}
    ends(page, bot, "completeSuccess", outputs=outputs)
    assert bot.steps[0]["inputs"] == {
        "person": "U0ALICE",
        "channel": "C0TEAMA",
        "gpus": "8",
        "length": "3d",
        "reason": "CVPR deadline",
    }
    tab.until(f"{ENDED}.innerText.includes('completed')")
    assert tab.ask(f"{ENDED}.innerText").split("\n") == [
        "Request GPU quota", "completed", "Decision", "approved", "Decided by", "@Carol",
        "How long", "3d", "Number", "4f09",
    ]  # fmt: skip
    assert "Request GPU quota is complete." in tab.text(".toast:last-child")


def test_a_failed_step_says_why(page: Played, bot: Bot) -> None:
    tab = page.tab
    opens_workflow(page)
    fills(page)
    tab.click("dialog button[type=submit]")
    tab.until("document.querySelector('.step')")
    ends(page, bot, "completeError", error="<@U0ALICE> declined. Nothing was requested.")
    tab.until(f"{ENDED}.innerText.includes('failed')")
    assert tab.text(".step .bad") == "@Alice declined. Nothing was requested."


def test_what_slack_refuses_stands_in_the_form(page: Played, bot: Bot) -> None:
    tab = page.tab
    opens_workflow(page)
    fills(page)
    page.slack.call(lambda: page.world.slack.install(manifest(commands())))
    tab.click("dialog button[type=submit]")
    assert tab.text("dialog .alert:not([hidden])") == (
        "There is no step request_gpu_quota; there is: none."
    )
    assert bot.steps == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_prompts_and_workflows_break_no_rule(page: Played, bot: Bot, scheme: str) -> None:
    tab = page.tab
    tab.prefers(scheme)
    opens_workflow(page)
    assert violations(page) == []
    fills(page)
    tab.click("dialog button[type=submit]")
    ends(page, bot, "completeError", error="Nothing was requested.")
    tab.until(f"{ENDED}?.innerText.includes('failed')")
    assert violations(page) == []
    tab.resize(390, 844, is_phone=True)
    tab.open(f"{page.url}#U0ALICE/D0ALICE")
    tab.until(f"{SHOWN}.length === 2")
    assert tab.ask("document.documentElement.scrollWidth") == 390
    assert violations(page) == []
