"""An app manifest as Slack takes it, and what an app that was made from it may see and do."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from playground.slack.shapes import Json

EVENT_SCOPES: Mapping[str, str] = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "channel_shared": "channels:read",
    "channel_unshared": "channels:read",
    "member_joined_channel": "channels:read",
}
"""The scope that each subscription needs; app_home_opened needs none."""

_EVENTS = {*EVENT_SCOPES, "app_home_opened", "function_executed"}
_COMMAND = re.compile(r"/[a-z0-9_-]{1,31}")
_MOST_COMMANDS, _DESCRIPTION, _USAGE_HINT = 50, 2_000, 1_000
_NAME, _SUMMARY = 35, 140
_MOST_SHORTCUTS, _SHORTCUT = 10, {"name": 24, "callback_id": 255, "description": 150}
_ABOUT_LEAST, _ABOUT_MOST = 174, 4_000
_TYPES = {
    "string", "integer", "number", "boolean", "slack#/types/user_id", "slack#/types/channel_id",
}  # fmt: skip
_AGENT_SCOPE, _AGENT_DESCRIPTION, MOST_PROMPTS = "assistant:write", 300, 4


class ManifestError(Exception):
    """Slack does not take the manifest: a pointer and a sentence for each fault."""


@dataclass(frozen=True)
class Installed:
    """What an app is sent and shown: everything its manifest names, and nothing else."""

    scopes: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    commands: Mapping[str, bool] = field(default_factory=dict)  # name -> should_escape
    shortcuts: Mapping[str, Json] = field(default_factory=dict)  # callback_id -> as declared
    has_interactivity: bool = False
    has_home: bool = False
    takes_messages: bool = False
    is_org_ready: bool = False
    functions: Mapping[str, Json] = field(default_factory=dict)
    has_agent_view: bool = False
    prompts: tuple[Json, ...] = ()  # those of the manifest

    def hears(self, event: str, granted: Collection[str]) -> bool:
        """Whether Slack sends the app this event, under the scopes it has now."""
        return event in self.events and EVENT_SCOPES.get(event) in {None, *granted}


def installed(manifest: Json) -> Installed:
    """The app of a manifest, installed with all scopes that it asks for.

    Raises:
        ManifestError: says each thing that Slack's settings page would refuse.
    """
    faults = [f"{pointer}: {said}" for pointer, said in _faults(manifest)]
    if faults:
        raise ManifestError("\n".join(faults))
    features, settings = manifest["features"], manifest["settings"]
    home = features.get("app_home", {})
    takes = home.get("messages_tab_enabled", False)
    return Installed(
        scopes=frozenset(_scopes(manifest)),
        events=frozenset(_events(manifest)),
        commands={each["command"]: each.get("should_escape", False) for each in _slash(manifest)},
        shortcuts={each["callback_id"]: each for each in features.get("shortcuts", [])},
        has_interactivity=settings["interactivity"]["is_enabled"],
        has_home=home.get("home_tab_enabled", False),
        takes_messages=takes and not home.get("messages_tab_read_only_enabled", False),
        is_org_ready=settings.get("org_deploy_enabled", False),
        functions=manifest.get("functions", {}),
        has_agent_view="agent_view" in features,
        prompts=tuple(features.get("agent_view", {}).get("suggested_prompts", ())),
    )


def _scopes(manifest: Json) -> list[str]:
    return list(manifest.get("oauth_config", {}).get("scopes", {}).get("bot", []))


def _events(manifest: Json) -> list[str]:
    return list(manifest.get("settings", {}).get("event_subscriptions", {}).get("bot_events", []))


def _slash(manifest: Json) -> list[Json]:
    return list(manifest.get("features", {}).get("slash_commands", []))


def _faults(manifest: Json) -> Iterator[tuple[str, str]]:
    yield from _about_faults(manifest.get("display_information", {}))
    if "is_enabled" not in manifest.get("settings", {}).get("interactivity", {}):
        yield "/settings/interactivity/is_enabled", "is missing"
    granted = set(_scopes(manifest))
    for event in _events(manifest):
        pointer, needed = "/settings/event_subscriptions/bot_events", EVENT_SCOPES.get(event)
        if event not in _EVENTS:
            yield pointer, f"{event} is not an event"
        elif needed is not None and needed not in granted:
            yield pointer, f"{event} requires the scope {needed}"
    yield from _command_faults(_slash(manifest), granted)
    yield from _shortcut_faults(manifest.get("features", {}).get("shortcuts", []), granted)
    yield from _agent_faults(manifest.get("features", {}), granted)
    yield from _function_faults(manifest.get("functions", {}), manifest.get("settings", {}))


def _function_faults(functions: Json, settings: Json) -> Iterator[tuple[str, str]]:
    if functions and settings.get("function_runtime") != "remote":
        yield "/settings/function_runtime", "must be remote for functions"
    if functions and not settings.get("org_deploy_enabled"):
        yield "/settings/org_deploy_enabled", "must be true for functions"
    for name, function in functions.items():
        if not function.get("title"):
            yield f"/functions/{name}/title", "is missing"
        for kind in ("input_parameters", "output_parameters"):
            for key, parameter in function.get(kind, {}).items():
                if parameter.get("type") not in _TYPES or parameter.get("name") != key:
                    yield f"/functions/{name}/{kind}/{key}", "needs a known type and its own name"


def _agent_faults(features: Json, granted: set[str]) -> Iterator[tuple[str, str]]:
    agent, pointer = features.get("agent_view"), "/features/agent_view"
    if (agent is None) == (_AGENT_SCOPE in granted):
        yield pointer, f"goes with the scope {_AGENT_SCOPE}, and the scope with it"
    if agent is None:
        return
    if len(agent.get("agent_description", "")) > _AGENT_DESCRIPTION:
        yield f"{pointer}/agent_description", f"must have at most {_AGENT_DESCRIPTION} characters"
    prompts = agent.get("suggested_prompts", [])
    if len(prompts) > MOST_PROMPTS:
        yield f"{pointer}/suggested_prompts", f"must have at most {MOST_PROMPTS} entries"
    if not all(is_prompt(each) for each in prompts):
        yield f"{pointer}/suggested_prompts", "must each have a title and a message"


def is_prompt(given: object) -> bool:
    """Whether it is a suggested prompt: a title and a message, and nothing else."""
    if not isinstance(given, dict) or given.keys() != {"title", "message"}:
        return False
    return all(isinstance(each, str) and each for each in given.values())


def _about_faults(about: Json) -> Iterator[tuple[str, str]]:
    limits = {"name": (1, _NAME), "description": (0, _SUMMARY)}
    if "long_description" in about:
        limits["long_description"] = (_ABOUT_LEAST, _ABOUT_MOST)
    for key, (least, most) in limits.items():
        if not least <= len(about.get(key, "")) <= most:
            yield f"/display_information/{key}", f"must have {least} to {most} characters"


def _command_faults(commands: list[Json], granted: set[str]) -> Iterator[tuple[str, str]]:
    if commands and "commands" not in granted:
        yield "/features/slash_commands", "requires the scope commands"
    if len(commands) > _MOST_COMMANDS:
        yield "/features/slash_commands", f"must have at most {_MOST_COMMANDS} entries"
    names = [each.get("command", "") for each in commands]
    for number, command in enumerate(commands):
        pointer, name = f"/features/slash_commands/{number}", names[number]
        if not _COMMAND.fullmatch(name) or names.index(name) != number:
            yield f"{pointer}/command", f"{name} is not a command, or is there twice"
        if not 0 < len(command.get("description", "")) <= _DESCRIPTION:
            yield f"{pointer}/description", f"must have 1 to {_DESCRIPTION} characters"
        if len(command.get("usage_hint", "")) > _USAGE_HINT:
            yield f"{pointer}/usage_hint", f"must have at most {_USAGE_HINT} characters"


def _shortcut_faults(shortcuts: list[Json], granted: set[str]) -> Iterator[tuple[str, str]]:
    if shortcuts and "commands" not in granted:
        yield "/features/shortcuts", "requires the scope commands"
    if len(shortcuts) > _MOST_SHORTCUTS:
        yield "/features/shortcuts", f"must have at most {_MOST_SHORTCUTS} entries"
    ids = [each.get("callback_id", "") for each in shortcuts]
    for number, shortcut in enumerate(shortcuts):
        pointer = f"/features/shortcuts/{number}"
        if ids.index(ids[number]) != number:
            yield f"{pointer}/callback_id", f"{ids[number]} is there twice"
        if shortcut.get("type") not in {"global", "message"}:
            yield f"{pointer}/type", "must be global or message"
        for key, most in _SHORTCUT.items():
            if not 0 < len(shortcut.get(key, "")) <= most:
                yield f"{pointer}/{key}", f"must have 1 to {most} characters"
