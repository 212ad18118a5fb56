"""What one person sees of the workspace, as the page is told: everything once, then what is new."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from playground.slack.files import File
from playground.slack.page_text import EMOJI
from playground.slack.people import BOT_USER, TEAM, Channel, Message, User
from playground.slack.shapes import Json
from playground.slack.transcript import Kind
from playground.slack.views import View
from playground.slack.workspace import Workspace

Event = tuple[str, Json]


class Seen:
    """What the page of one person has been told of a workspace."""

    def __init__(self, slack: Workspace, user: str) -> None:
        self._slack = slack
        self._user = user
        self._told: dict[str, str] = {}  # the last of each event that is sent whole
        self._messages: dict[str, dict[str, object]] = {}  # channel -> ts -> version
        self._since = len(slack.transcript.entries)
        self._lines = 0  # of the transcript, that were looked at
        self._notified: Counter[str] = Counter()

    def news(self) -> Iterator[Event]:
        """What changed since this was asked last; everything the first time."""
        failures = list(self._read_transcript())
        yield from self._changed("workspace", self._workspace())
        for channel in self._places():
            yield from self._new_messages(channel)
        yield from self._changed("views", self._views())
        if self._slack.app.has_agent_view and self._slack.has_app(self._user):
            offered = self._slack.prompts_of(self._user)
            yield from self._changed("prompts", {"offered": offered})
        yield from self._changed("notified", dict(self._notified))
        yield from failures

    def _read_transcript(self) -> Iterator[Event]:
        """Counts whom messages notified, and tells what failed before the eyes of this person."""
        entries = self._slack.transcript.entries
        first, self._lines = self._lines, len(entries)
        for number, entry in enumerate(entries[first:], start=first):
            if entry.kind is Kind.POSTED:
                self._notified.update(entry.notified)
            is_new = number >= self._since and entry.viewer == self._user
            if is_new and entry.kind is Kind.FAILED:
                yield "failed", {"text": entry.text, "channel": entry.channel}

    def _changed(self, name: str, value: Json) -> Iterator[Event]:
        written = json.dumps(value, sort_keys=True)
        if self._told.get(name) != written:
            self._told[name] = written
            yield name, value

    def _places(self) -> list[Channel]:
        """The channels of this person, and the direct messages with the app."""
        slack = self._slack
        if slack.has_app(self._user):
            slack.im(self._user)
        return [each for each in slack.channels.values() if self._user in each.members]

    def _workspace(self) -> Json:
        slack = self._slack
        about = slack.manifest.get("display_information", {})
        features = slack.manifest.get("features", {})
        commands, agent = features.get("slash_commands", []), features.get("agent_view", {})
        is_ours = slack.has_app(self._user)
        return {
            "me": self._user,
            "app": {
                "user": BOT_USER,
                "name": about.get("name", "The app"),
                "description": about.get("description", ""),
                "colour": about.get("background_color", ""),
                "has_home": slack.app.has_home and is_ours,
                "takes_messages": slack.app.takes_messages,
                "agent": agent.get("agent_description", ""),
            },
            "people": [_person(user) for user in slack.users.values()],
            "groups": [{"id": each.id, "name": each.handle} for each in slack.groups.values()],
            "channels": [_channel(each) for each in self._places()],
            "commands": [
                {
                    "name": each["command"],
                    "description": each["description"],
                    "hint": each.get("usage_hint", ""),
                }
                for each in (commands if is_ours else ())
            ],
            "shortcuts": [
                {"name": each["name"], "kind": each["type"]}
                for each in (slack.app.shortcuts.values() if is_ours else ())
            ],
            "steps": [
                _step(name, each) for name, each in (slack.app.functions if is_ours else {}).items()
            ],
            "emoji": {name: list(sign) for name, sign in EMOJI.items()},
        }

    def _new_messages(self, channel: Channel) -> Iterator[Event]:
        known = self._messages.setdefault(channel.id, {})
        shown = [m for m in channel.messages if m.viewer in (None, self._user)]
        versions = {message.ts: _version(message) for message in shown}
        new = [message for message in shown if known.get(message.ts) != versions[message.ts]]
        gone = [ts for ts in known if ts not in versions]
        if new or gone:
            self._messages[channel.id] = versions
            told = [message_json(message) for message in new]
            yield "messages", {"channel": channel.id, "messages": told, "gone": gone}

    def _views(self) -> Json:
        views = self._slack.views
        home = views.homes.get(self._user)
        return {
            "forms": [_view(view) for view in views.stacks.get(self._user, [])],
            "home": _view(home) if home is not None else None,
        }


def message_json(message: Message) -> Json:
    """A message as the page shows it."""
    return {
        "ts": message.ts,
        "user": message.user,
        "text": message.text,
        "blocks": [] if message.deleted else message.blocks,
        "thread": message.thread_ts if message.is_reply else None,
        "broadcast": message.broadcast,
        "only": message.viewer is not None,
        "edited": bool(message.edits),
        "deleted": message.deleted,
        "reactions": {name: list(users) for name, users in message.reactions.items()},
        "files": [] if message.deleted else [_file(file) for file in message.files],
        "notified": list(message.notified),
    }


def file_of(slack: Workspace, user: str, file_id: str) -> File | None:
    """A file, if a message or view that this person sees shows it."""
    places = [each for each in slack.channels.values() if user in each.members]
    shown: list[Any] = [m for place in places for m in slack.visible(user, place.id)]
    home = slack.views.homes.get(user)
    blocks = [block for message in shown for block in message.blocks]
    blocks += home.body["blocks"] if home is not None else []
    blocks += [b for view in slack.views.stacks.get(user, []) for b in view.body["blocks"]]
    named = {file.id for message in shown for file in message.files}
    return slack.files.get(file_id) if file_id in named | set(_pictures(blocks)) else None


def _pictures(part: Any) -> Iterator[str]:
    """Ids of the files that blocks show, anywhere in them."""
    if isinstance(part, list):
        for each in part:
            yield from _pictures(each)
    elif isinstance(part, dict):
        if "slack_file" in part:
            yield str(part["slack_file"].get("id", ""))
        for value in part.values():
            yield from _pictures(value)


def _version(message: Message) -> object:
    """Differs whenever a message looks different."""
    reacted = sum(len(users) for users in message.reactions.values())
    return message.edits, message.deleted, message.thread_ts, reacted, len(message.files)


def _file(file: File) -> Json:
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title,
        "size": file.length,
        "picture": file.kind is not None,
    }


def _person(user: User) -> Json:
    return {
        "id": user.id,
        "name": user.real_name if user.is_bot else user.real_name.split()[0],
        "real_name": user.real_name,
        "handle": user.name,
        "zone": user.tz,
        "is_bot": user.is_bot,
        "is_guest": user.is_restricted or user.is_ultra_restricted,
        "is_stranger": user.team_id != TEAM and not user.organisation,
        "is_gone": user.deleted,
    }


def _step(name: str, function: Json) -> Json:
    """A step that the app has for workflows, with the inputs that a workflow must give it."""
    inputs = [
        {
            "name": key,
            "title": each["title"],
            "hint": each.get("description", ""),
            "type": each["type"],
            "is_required": each["is_required"],
        }
        for key, each in function["input_parameters"].items()
    ]
    about = {"title": function["title"], "description": function["description"]}
    return {"name": name, **about, "inputs": inputs}


def _channel(channel: Channel) -> Json:
    return {
        "id": channel.id,
        "name": channel.name,
        "is_direct": channel.im_with is not None,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_shared": channel.is_ext_shared,
        "members": list(channel.members),
    }


def _view(view: View) -> Json:
    return {
        "id": view.id,
        "hash": view.hash,
        "body": view.body,
        "values": view.values,
        "errors": view.errors,
    }
