"""Home tabs as they reach the dispatcher: who opened one, and clicks on it."""

from datetime import UTC, datetime

from bot.slack.card import Button
from bot.slack.home.page import HomePage, HomeSection
from bot.slack.home.tabs import HomeOpened
from bot.slack.home.view import home_view
from playground.slack.rates import POSTING, Rates
from tests.bot.slack.conftest import Open
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher, say
from tests.playground.slack.served import Served


def test_the_home_tab_says_who_opened_it(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    view = {"type": "home", "blocks": [{"type": "divider"}]}
    with opened(dispatcher):
        slack.act(slack.workspace.open_home("U0ALICE"))
        slack.until(lambda: len(dispatcher.homes) == 1)
        slack.bot.views_publish(user_id="U0ALICE", view=view)
        slack.act(slack.workspace.open_home("U0ALICE"))
        slack.until(lambda: len(dispatcher.homes) == 2)
    assert dispatcher.homes == [
        HomeOpened("U0ALICE", "D0ALICE", is_blank=True),
        HomeOpened("U0ALICE", "D0ALICE", is_blank=False),
    ]


def test_clicks_on_a_home_tab_are_answered_directly(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher(reply=lambda incoming: say(f"You clicked {incoming.value}."))
    slack.workspace.im("U0ALICE")
    slack.bot.views_publish(user_id="U0ALICE", view=home("D0ALICE"))
    with opened(dispatcher):
        tab = slack.workspace.views.homes["U0ALICE"]
        slack.act(slack.workspace.click("U0ALICE", tab, "Logs"))
        slack.until(lambda: slack.workspace.channels["D0ALICE"].messages)
    [click] = dispatcher.seen
    assert (click.command, click.value, click.channel) == ("train.logs", "lane", "D0ALICE")
    assert click.in_home
    [answer] = slack.workspace.channels["D0ALICE"].messages
    assert (answer.text, answer.viewer) == ("You clicked lane.", None)


def test_an_answer_waits_for_slacks_limit(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher(reply=lambda incoming: say(f"You clicked {incoming.value}."))
    slack.workspace.im("U0ALICE")
    slack.bot.views_publish(user_id="U0ALICE", view=home("D0ALICE"))
    slack.workspace.rates = Rates()
    with opened(dispatcher):
        for number in range(POSTING.count):
            slack.bot.chat_postMessage(channel="D0ALICE", text=f"Notice {number}")
        tab = slack.workspace.views.homes["U0ALICE"]
        slack.act(slack.workspace.click("U0ALICE", tab, "Logs"))
        answered = "You clicked lane."
        slack.until(lambda: answered in slack.texts("U0ALICE", "D0ALICE"))
    assert slack.texts("U0ALICE", "D0ALICE").count(answered) == 1
    assert ("chat.postMessage", "ratelimited") in slack.workspace.refusals


def test_a_home_tab_names_no_other_channel(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher(reply=lambda _incoming: None)
    slack.bot.views_publish(user_id="U0ALICE", view=home("C0TEAMA"))
    with opened(dispatcher):
        tab = slack.workspace.views.homes["U0ALICE"]
        slack.act(slack.workspace.click("U0ALICE", tab, "Logs"))
        slack.until(lambda: dispatcher.seen)
    [click] = dispatcher.seen
    assert (click.channel, click.in_home) == ("", False)


def home(channel: str) -> dict[str, object]:
    """A tab with a button."""
    section = HomeSection("Runs", buttons=(Button("train.logs", "Logs", "lane"),))
    now = datetime.now(UTC)
    return home_view(HomePage((section,)), channel, (now, now), lambda _form: None)
