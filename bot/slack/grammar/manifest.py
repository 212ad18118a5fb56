"""The Slack app that fits this installation, as the manifest Slack's settings page takes."""

from collections.abc import Sequence
from typing import Any, Literal

from bot.errors import LimitError
from bot.slack.grammar.declarations import Command
from bot.slack.grammar.registry import Registry
from bot.slack.grammar.shortcuts import Shortcut
from bot.slack.grammar.steps import StepParameter
from bot.slack.shortening import cut

SCOPES = {
    "app_mentions:read": "answer @mentions, which work in threads where slash commands do not",
    "channels:history": (
        "find its own post again when Slack's answer to it was lost, and the files to copy"
    ),
    "channels:read": "check whether the bot is in a public channel, and suggest an /invite",
    "chat:write": "post and edit cards",
    "commands": "receive slash commands",
    "files:read": "copy the files of a message to a dataset, if people choose that for it",
    "files:write": "show charts, and send what is too long for a message as a file",
    "groups:history": "find its own post again in private channels",
    "groups:read": "check whether the bot is in a private channel",
    "im:history": "read direct messages to the bot, and find its own post again there",
    "im:write": "send direct messages to people who choose them, or if a channel cannot be reached",
    "usergroups:read": "read the members of the user groups that have roles",
    "users:read": "distinguish members from guests and people of other workspaces; read time zones",
}
"""The bot token's scopes and what each is for.

chat:write.public is not among them: a bot cannot read back its own posts in a channel it was not
invited to, and an invitation is how a team says that it wants the bot.
"""

FILES_SCOPE = "files:read"
"""A scope that a workspace may withhold: then files are not copied from Slack."""

AGENT_SCOPE = "assistant:write"
"""The further scope of an app with Slack's agent view; it is granted with that alone."""

_EVENTS = (
    "app_mention",
    "message.im",
    "channel_shared",
    "channel_unshared",
    "member_joined_channel",
    "app_home_opened",
)
"""Slack sends no app_mention of what is written in direct messages, but message.im."""

_STEP_EVENT = "function_executed"
_COMMANDS = 50
_NAME = 32
_DESCRIPTION = 2_000
_USAGE_HINT = 1_000
_ABOUT = {
    "name": "Quartermaster",
    "description": "Training, queues and GPU quota from a team's channel",
    "long_description": (
        "Quartermaster lets a team run its GPU work from its own Slack channel: submit training "
        "and follow it on one card, see what waits and why, and request more GPUs for a limited "
        "time, with approval. The team's own configuration decides what it may do, and for whom."
    ),
    "background_color": "#1f3a4d",
}
_APP_HOME = {
    "home_tab_enabled": True,
    "messages_tab_enabled": True,
    "messages_tab_read_only_enabled": False,
}
_AGENT = {
    "agent_description": (
        "Answers the commands of Quartermaster, such as train list and quota status, "
        "without a language model."
    ),
    # Until the bot has set those of the person.
    "suggested_prompts": [{"title": "What can I do here?", "message": "help"}],
}


def manifest(
    registry: Registry,
    transport: Literal["socket", "http"] = "socket",
    request_url: str = "",
    *,
    org_wide: bool = False,
    agent_view: bool = False,
    workflow_steps: bool = False,
) -> dict[str, Any]:
    """The manifest; with transport http, Slack sends everything to `request_url`.

    `org_wide` is for a whole Enterprise Grid organisation; `agent_view` adds Slack's agent view
    and its scope, `workflow_steps` the steps for Workflow Builder. LimitError where Slack would
    refuse it.
    """
    _refuse_without_url(transport, request_url)
    events = [*_EVENTS, *([_STEP_EVENT] if workflow_steps else [])]
    requests = {"request_url": request_url} if transport == "http" else {}
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": _ABOUT,
        "features": {
            "app_home": _APP_HOME,
            "bot_user": {"display_name": "Quartermaster", "always_online": True},
            "slash_commands": _slash_commands(registry, request_url if requests else ""),
            "shortcuts": [_shortcut(each) for each in registry.shortcuts.values()],
            **({"agent_view": _AGENT} if agent_view else {}),
        },
        "oauth_config": {"scopes": {"bot": [*SCOPES, *([AGENT_SCOPE] if agent_view else [])]}},
        **({"functions": _functions(registry)} if workflow_steps else {}),
        "settings": {
            "event_subscriptions": {**requests, "bot_events": events},
            "interactivity": {"is_enabled": True, **requests},
            "socket_mode_enabled": transport == "socket",
            "token_rotation_enabled": False,
            # Slack takes steps only of apps that an organisation can install.
            "org_deploy_enabled": org_wide or workflow_steps,
            **({"function_runtime": "remote"} if workflow_steps else {}),
        },
    }


def _refuse_without_url(transport: str, request_url: str) -> None:
    if transport == "http" and not request_url:
        raise LimitError(
            "Over HTTP, Slack needs the URL of this bot.",
            "Add it, for example `--url https://quartermaster.example.com/slack/events`.",
        )


def _functions(registry: Registry) -> dict[str, Any]:
    return {
        step.callback_id: {
            "title": step.title,
            "description": step.description,
            "input_parameters": _parameters(step.inputs),
            "output_parameters": _parameters(step.outputs),
        }
        for step in registry.steps.values()
    }


def _parameters(given: Sequence[StepParameter]) -> dict[str, Any]:
    return {
        each.name: {
            "type": each.kind,
            "name": each.name,
            "title": each.title,
            "description": each.description,
            "is_required": each.is_required,
        }
        for each in given
    }


def _shortcut(shortcut: Shortcut) -> dict[str, Any]:
    return {
        "name": shortcut.label,
        "type": "message" if shortcut.of_message else "global",
        "callback_id": shortcut.callback_id,
        "description": shortcut.description,
    }


def _slash_commands(registry: Registry, request_url: str) -> list[dict[str, Any]]:
    url = {"url": request_url} if request_url else {}
    entries = [
        _umbrella(registry),
        *(_entry(registry, each) for each in registry.slash_commands.values()),
    ]
    if len(entries) > _COMMANDS:
        raise LimitError(
            f"A Slack app may have {_COMMANDS} slash commands; these are {len(entries)}."
        )
    for entry in entries:
        if len(entry["command"]) > _NAME:
            raise LimitError(
                f"`{entry['command']}` is longer than the {_NAME} characters Slack allows.",
                "Choose a shorter `slack.command_prefix`.",
            )
    return [{**entry, **url, "should_escape": True} for entry in entries]


def _entry(registry: Registry, command: Command) -> dict[str, Any]:
    return {
        "command": registry.slash.of(command.name),
        "description": cut(command.summary, _DESCRIPTION),
        "usage_hint": cut(" | ".join([*command.verbs, "help"]), _USAGE_HINT),
    }


def _umbrella(registry: Registry) -> dict[str, Any]:
    own = registry.commands.get(registry.umbrella)
    words = [*registry.slash_commands, *(own.verbs if own else ()), "help"]
    return {
        "command": f"/{registry.umbrella}",
        "description": "All Quartermaster commands under one name",
        "usage_hint": cut(" | ".join(words), _USAGE_HINT),
    }
