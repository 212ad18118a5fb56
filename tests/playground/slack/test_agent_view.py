"""The agent view as Slack documents it: what it takes, shows and refuses."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from bot.app import commands
from bot.slack.grammar.manifest import manifest
from playground.slack.errors import PersonError
from playground.slack.installed import ManifestError, installed
from tests.playground.slack.served import Served

ALICE, DIRECT = "U0ALICE", "D0ALICE"
PROMPT = {"title": "Runs", "message": "train list"}
WITH_VIEW = manifest(commands(), agent_view=True)


@pytest.fixture
def agent(slack: Served) -> Served:
    slack.workspace.install(WITH_VIEW)
    slack.workspace.im(ALICE)
    return slack


def suggest(slack: Served, prompts: object, **more: str) -> None:
    arguments = {"channel_id": DIRECT, "prompts": prompts, **more}
    slack.bot.api_call("assistant.threads.setSuggestedPrompts", json=arguments)


def refused(slack: Served, prompts: object, **more: str) -> str:
    with pytest.raises(SlackApiError) as caught:
        suggest(slack, prompts, **more)
    return str(caught.value.response["error"])


def test_prompts_replace_those_of_the_manifest(agent: Served) -> None:
    assert agent.workspace.prompts_of(ALICE) == [
        {"title": "What can I do here?", "message": "help"}
    ]
    suggest(agent, [PROMPT])
    assert agent.workspace.prompts_of(ALICE) == [PROMPT]


def test_a_chosen_prompt_sends_its_message(agent: Served) -> None:
    suggest(agent, [PROMPT])
    sent = agent.act(agent.workspace.choose(ALICE, "Runs"))
    assert (sent.channel, sent.user, sent.text) == (DIRECT, ALICE, "train list")
    with pytest.raises(PersonError, match="no prompt Logs is suggested; there is: Runs"):
        agent.act(agent.workspace.choose(ALICE, "Logs"))


@pytest.mark.parametrize(
    "prompts", [[], [PROMPT] * 5, "Runs", [{"title": "Runs"}], [{"title": "", "message": "x"}]]
)
def test_prompts_that_slack_refuses(agent: Served, prompts: object) -> None:
    assert refused(agent, prompts) == "invalid_arguments"
    assert agent.workspace.prompts == {}


def test_prompts_need_scope_view_and_channel(agent: Served) -> None:
    assert refused(agent, [PROMPT], channel_id="C0TEAMA") == "channel_not_found"
    agent.workspace.app = replace(agent.workspace.app, has_agent_view=False)
    assert refused(agent, [PROMPT]) == "not_agent_app"
    with pytest.raises(PersonError, match="this app has no agent view"):
        agent.workspace.prompts_of(ALICE)
    agent.workspace.scopes.discard("assistant:write")
    assert refused(agent, [PROMPT]) == "missing_scope"


def test_prompts_for_a_thread_change_nothing(agent: Served) -> None:
    suggest(agent, [PROMPT], thread_ts="1.000001")
    assert agent.workspace.prompts == {}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({"agent_description": "d" * 301}, "agent_description: must have at most 300 characters"),
        ({"suggested_prompts": [PROMPT] * 5}, "suggested_prompts: must have at most 4 entries"),
        ({"suggested_prompts": [{}]}, "suggested_prompts: must each have a title and a message"),
    ],
)
def test_slack_refuses_such_agent_views(view: dict[str, Any], said: str) -> None:
    made = copy.deepcopy(WITH_VIEW)
    made["features"]["agent_view"] |= view
    with pytest.raises(ManifestError) as caught:
        installed(made)
    assert str(caught.value) == f"/features/agent_view/{said}"


def test_scope_and_view_go_together(slack: Served) -> None:
    without = copy.deepcopy(WITH_VIEW)
    del without["features"]["agent_view"]
    with pytest.raises(ManifestError) as caught:
        slack.workspace.install(without)
    said = "goes with the scope assistant:write, and the scope with it"
    assert str(caught.value) == f"/features/agent_view: {said}"
