"""The agent view: what it suggests to people, and where it shows the answers to them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.slack.card import Prompt, Reply
from bot.slack.grammar.manifest import AGENT_SCOPE
from playground.slack.people import Message
from tests.bot.slack.conftest import Open
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher, say, wait_until
from tests.playground.slack.served import Served

ALICE, DIRECT = "U0ALICE", "D0ALICE"
PROMPTS = (Prompt("Show my team's runs", "train list"), Prompt("What can I do here?", "help"))
SUGGESTED = [
    {"title": "Show my team's runs", "message": "train list"},
    {"title": "What can I do here?", "message": "help"},
]


@pytest.fixture
def agent(slack: Served) -> Served:
    """The workspace, whose app has the agent view."""
    slack.workspace.scopes.add(AGENT_SCOPE)
    slack.workspace.app = replace(slack.workspace.app, has_agent_view=True)
    slack.workspace.im(ALICE)
    return slack


def suggesting(*prompts: Prompt) -> RecordingDispatcher:
    """A dispatcher that suggests these, and answers what is said."""
    return RecordingDispatcher(
        lambda each: Reply(prompts=prompts) if each.kind == "opened" else say("Done.")
    )


def direct(slack: Served) -> list[tuple[str, str | None, str | None]]:
    """Text, thread and viewer of each message of the bot in the direct messages."""
    found = slack.workspace.channels[DIRECT].messages
    return [(each.text, each.thread_ts, each.viewer) for each in found if each.user != ALICE]


def is_answered(slack: Served) -> Callable[[], Any]:
    return lambda: len(direct(slack)) == 1


def write(slack: Served, text: str, thread_ts: str | None = None) -> Message:
    return slack.act(slack.workspace.mention(ALICE, DIRECT, text, thread_ts))


def test_opening_the_messages_suggests_commands(agent: Served, opened: Open) -> None:
    dispatcher = suggesting(*PROMPTS)
    with opened(dispatcher):
        agent.act(agent.workspace.open_home(ALICE, tab="messages"))
        agent.until(lambda: agent.workspace.prompts_of(ALICE))
    assert agent.workspace.prompts_of(ALICE) == SUGGESTED
    [incoming] = dispatcher.seen
    assert (incoming.kind, incoming.person, incoming.channel) == ("opened", ALICE, DIRECT)


def test_a_chosen_prompt_is_answered_in_its_thread(agent: Served, opened: Open) -> None:
    with opened(suggesting(*PROMPTS)):
        agent.act(agent.workspace.open_home(ALICE, tab="messages"))
        agent.until(lambda: agent.workspace.prompts_of(ALICE))
        sent = agent.act(agent.workspace.choose(ALICE, "Show my team's runs"))
        agent.until(is_answered(agent))
    assert sent.text == "train list"
    assert direct(agent) == [("Done.", sent.ts, None)]


def test_a_message_in_a_thread_is_answered_there(agent: Served, opened: Open) -> None:
    first = Message(DIRECT, "1.000001", ALICE, "help")
    agent.workspace.channels[DIRECT].messages.append(first)
    dispatcher = suggesting()
    with opened(dispatcher):
        write(agent, "train list", first.ts)
        agent.until(is_answered(agent))
    assert [each.words for each in dispatcher.seen] == ["train list"]
    assert direct(agent) == [("Done.", first.ts, None)]


def test_nothing_is_suggested_without_the_scope(slack: Served, opened: Open) -> None:
    slack.workspace.im(ALICE)
    dispatcher = suggesting(*PROMPTS)
    with opened(dispatcher):
        slack.act(slack.workspace.open_home(ALICE, tab="messages"))
        write(slack, "train list")
        slack.until(is_answered(slack))
    assert [each.kind for each in dispatcher.seen] == ["mention"]
    assert direct(slack) == [("Done.", None, ALICE)]
    assert slack.workspace.refusals == []


def test_refused_prompts_leave_commands_working(agent: Served, opened: Open) -> None:
    agent.workspace.app = replace(agent.workspace.app, has_agent_view=False)
    with opened(suggesting(*PROMPTS)):
        agent.act(agent.workspace.open_home(ALICE, tab="messages"))
        wait_until(lambda: agent.workspace.refusals)
        sent = write(agent, "train list")
        agent.until(is_answered(agent))
    assert agent.workspace.refusals == [("assistant.threads.setSuggestedPrompts", "not_agent_app")]
    assert direct(agent) == [("Done.", sent.ts, None)]


def test_a_person_without_prompts_keeps_others(agent: Served, opened: Open) -> None:
    dispatcher = suggesting()
    with opened(dispatcher):
        agent.act(agent.workspace.open_home(ALICE, tab="messages"))
        wait_until(lambda: dispatcher.seen)
    assert agent.workspace.prompts == {}
    assert agent.workspace.refusals == []
