"""Messages coming, changing and going: threads, notifications, and the lines they leave."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from playground.slack import events
from playground.slack.mrkdwn import block_lines, mentions, plain
from playground.slack.people import BOT_USER, Channel, Message
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.transcript import Kind


@dataclass(frozen=True)
class Change:
    """What an edit replaces; None keeps what was there."""

    text: str | None = None
    blocks: list[Json] | None = None
    metadata: Json | None = None


def post(state: State, message: Message) -> Message:
    """Puts a message into its channel with the next timestamp.

    A reply whose parent is gone lands in the channel itself, as Slack does it without a word.
    """
    channel = state.channel(message.channel)
    parent = _parent(state, message)
    if message.viewer is None:
        message.thread_ts = parent.ts if parent else None
        message.broadcast = message.broadcast and parent is not None
        if parent is not None:
            parent.thread_ts = parent.ts
    message.ts = state.next_ts()
    message.notified = tuple(_notified(state, message, channel))
    channel.messages.append(message)
    state.record(Kind.POSTED, message, message.user, text_of(state, message))
    if message.viewer is None:
        events.posted(state, message)
    return message


def edit(state: State, message: Message, change: Change) -> None:
    """Changes a message in place, without a notification."""
    before, was = text_of(state, message), message.as_json()
    message.text = message.text if change.text is None else change.text
    message.blocks = message.blocks if change.blocks is None else change.blocks
    message.metadata = message.metadata if change.metadata is None else (change.metadata or None)
    message.edits += 1
    message.edited_at = state.next_ts()
    state.record(Kind.EDITED, message, message.user, text_of(state, message), before)
    if message.viewer is None:
        events.edited(state, message, was)


def delete(state: State, message: Message, by: str) -> None:
    """Takes a message away; where it has replies a tombstone stays."""
    channel, was = state.channel(message.channel), message.as_json()
    message.deleted = True
    if not replies(channel, message.ts):
        channel.messages.remove(message)
    state.record(Kind.DELETED, message, by, "(message deleted)")
    if message.viewer is None:
        events.deleted(state, message, was)


def replies(channel: Channel, thread_ts: str) -> list[Message]:
    """The replies of a thread that everybody sees, oldest first."""
    return [m for m in channel.messages if m.thread_ts == thread_ts and m.is_reply and not m.viewer]


def text_of(state: State, message: Message) -> str:
    """A message as plain text: its blocks where it has some, else its text; then its files."""
    files = [f"[file: {file.name}, {file.length:,} bytes]" for file in message.files]
    if not message.blocks:
        return "\n".join([*filter(None, [plain(message.text, state)]), *files])
    lines = [line for block in message.blocks for line in block_lines(block, state)]
    return "\n".join([*lines, *files])


def _parent(state: State, message: Message) -> Message | None:
    if message.thread_ts is None:
        return None
    parent = state.message(message.channel, message.thread_ts)
    if parent is not None and parent.is_reply and parent.thread_ts:
        return state.message(message.channel, parent.thread_ts)
    return parent


def _notified(state: State, message: Message, channel: Channel) -> Iterator[str]:
    """Members a new message calls: in direct messages the person, else those it mentions."""
    if message.viewer is not None:
        return
    called = set(_called(state, message, channel))
    for user in channel.members:
        if user in called and user not in (message.user, BOT_USER):
            yield user


def _called(state: State, message: Message, channel: Channel) -> Iterator[str]:
    if channel.im_with:
        yield channel.im_with
    for mentioned in _mentioned(message.blocks) if message.blocks else mentions(message.text):
        if mentioned in ("here", "channel", "everyone"):
            yield from channel.members
        elif mentioned in state.groups:
            yield from state.groups[mentioned].users
        else:
            yield mentioned


def _mentioned(part: Any) -> Iterable[str]:
    """Ids mentioned anywhere in blocks: in mrkdwn, and as rich text elements."""
    if isinstance(part, list):
        return [found for each in part for found in _mentioned(each)]
    if not isinstance(part, dict):
        return []
    found = [part[key] for key in ("user_id", "usergroup_id", "range") if key in part]
    if part.get("type") in ("mrkdwn", "markdown"):
        found += mentions(part["text"])
    return [*found, *(each for value in part.values() for each in _mentioned(value))]
