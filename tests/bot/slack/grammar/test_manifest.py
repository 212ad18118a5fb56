import json
import re
from pathlib import Path

import pytest

from bot.app import commands
from bot.errors import LimitError
from bot.slack.grammar.declarations import Command
from bot.slack.grammar.manifest import AGENT_SCOPE, SCOPES, manifest
from bot.slack.grammar.registry import Registry
from tests.bot.slack.grammar.commands import Right, declare_quota, declare_train
from tests.bot.slack.grammar.test_declarations import answer

REGISTRY = Registry([declare_train(), declare_quota()], prefix="qm")
URL = "https://bot.example/slack/events"


def command(name: str) -> Command:
    declared = Command(name, "What it is for")
    declared.verb("list", "Show", right=Right.LOOK, examples=("list",))(answer)
    return declared


def test_socket_mode_needs_no_addresses() -> None:
    made = manifest(REGISTRY)
    assert made["features"]["slash_commands"] == [
        {
            "command": "/qm",
            "description": "All Quartermaster commands under one name",
            "usage_hint": "train | quota | help",
            "should_escape": True,
        },
        {
            "command": "/qm-train",
            "description": "Training runs: submit, follow, stop",
            "usage_hint": "submit | logs | list | help",
            "should_escape": True,
        },
        {
            "command": "/qm-quota",
            "description": "GPU quota: what your team may use, uses and waits for",
            "usage_hint": "request | help",
            "should_escape": True,
        },
    ]
    assert made["settings"] == {
        "event_subscriptions": {
            "bot_events": [
                "app_mention",
                "message.im",
                "channel_shared",
                "channel_unshared",
                "member_joined_channel",
                "app_home_opened",
            ]
        },
        "interactivity": {"is_enabled": True},
        "org_deploy_enabled": False,
        "socket_mode_enabled": True,
        "token_rotation_enabled": False,
    }
    assert "http" not in json.dumps(made)


def test_http_sends_everything_to_one_address() -> None:
    made = manifest(REGISTRY, "http", URL)
    assert {entry["url"] for entry in made["features"]["slash_commands"]} == {URL}
    assert made["settings"]["event_subscriptions"]["request_url"] == URL
    assert made["settings"]["interactivity"] == {"is_enabled": True, "request_url": URL}
    assert made["settings"]["socket_mode_enabled"] is False


def test_http_without_an_address_is_refused() -> None:
    with pytest.raises(LimitError) as caught:
        manifest(REGISTRY, "http")
    assert caught.value.message == "Over HTTP, Slack needs the URL of this bot."


def test_texts_fit_the_published_schema() -> None:
    made = manifest(REGISTRY)
    about = made["display_information"]
    assert len(about["name"]) <= 35
    assert len(about["description"]) <= 140
    assert 174 <= len(about["long_description"]) <= 4_000
    assert made["oauth_config"]["scopes"]["bot"] == sorted(SCOPES)
    assert all(SCOPES.values())


def test_refuses_more_commands_than_slack_takes() -> None:
    with pytest.raises(LimitError) as caught:
        manifest(Registry(command(f"c{number}") for number in range(50)))
    assert caught.value.message == "A Slack app may have 50 slash commands; these are 51."


def test_refuses_names_longer_than_slack_takes() -> None:
    with pytest.raises(LimitError) as caught:
        manifest(Registry([command("train")], prefix="quartermaster-of-acme-berlin"))
    assert (caught.value.message, caught.value.hint) == (
        "`/quartermaster-of-acme-berlin-train` is longer than the 32 characters Slack allows.",
        "Choose a shorter `slack.command_prefix`.",
    )


def test_both_tabs_are_subscribed_to_and_allowed() -> None:
    made = manifest(REGISTRY)
    assert made["features"]["app_home"] == {
        "home_tab_enabled": True,
        "messages_tab_enabled": True,
        "messages_tab_read_only_enabled": False,
    }
    assert "app_home_opened" in made["settings"]["event_subscriptions"]["bot_events"]
    assert "message.im" in made["settings"]["event_subscriptions"]["bot_events"]
    assert "im:history" in made["oauth_config"]["scopes"]["bot"]


def test_the_agent_view_adds_nothing_else() -> None:
    usual, made = manifest(REGISTRY), manifest(REGISTRY, agent_view=True)
    view = made["features"].pop("agent_view")
    assert len(view["agent_description"]) <= 300
    assert view["suggested_prompts"] == [{"title": "What can I do here?", "message": "help"}]
    assert made["oauth_config"]["scopes"]["bot"].pop() == AGENT_SCOPE
    assert made == usual


def test_a_workflow_step_needs_its_settings() -> None:
    usual, made = manifest(commands()), manifest(commands(), workflow_steps=True)
    function = made.pop("functions")["request_gpu_quota"]
    assert function["title"] == "Request GPU quota"
    assert function["input_parameters"]["person"] == {
        "type": "slack#/types/user_id",
        "name": "person",
        "title": "Person",
        "description": "Who requests it",
        "is_required": True,
    }
    assert list(function["output_parameters"]) == ["decision", "decided_by", "length", "number"]
    assert made["settings"].pop("function_runtime") == "remote"
    assert made["settings"].pop("org_deploy_enabled")
    assert made["settings"]["event_subscriptions"]["bot_events"].pop() == "function_executed"
    del usual["settings"]["org_deploy_enabled"]
    assert made == usual


def test_documentation_lists_every_scope_and_event() -> None:
    page = Path("docs/slack.md").read_text(encoding="utf-8")
    made = manifest(REGISTRY)
    events = made["settings"]["event_subscriptions"]["bot_events"]
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert listed == [*events, *SCOPES]


def test_reviewers_read_every_scope_and_method() -> None:
    page = Path("docs/slack-review.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert listed == list(SCOPES)
    families = "apps|assistant|auth|chat|conversations|files|functions|usergroups|users|views"
    method = rf"(?:{families})\.[a-zA-Z.]+"
    code = "".join(path.read_text(encoding="utf-8") for path in Path("bot/slack").rglob("*.py"))
    called = set(re.findall(f'"({method})"', code))
    assert "users.info" in called
    assert called == set(re.findall(f"`({method})`", page))
