"""chat.* and reactions.*: posting, changing and marking messages."""

from typing import Any

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.limits import (
    MESSAGE_TEXT,
    UPDATE_TEXT,
    checked_blocks,
    checked_metadata,
    checked_text,
)
from playground.slack.methods import Method, user
from playground.slack.people import BOT_USER, Channel, Message
from playground.slack.posting import Change, delete, edit, post
from playground.slack.rates import TIER_3, TIER_4, UNLIMITED
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.transcript import Kind

PERMALINK = "https://acme.slack.example/archives"


def post_message(state: State, args: Arguments) -> Json:
    """chat.postMessage; the same call twice posts twice."""
    channel = writable(state, args)
    message = post(state, _drafted(state, args, channel))
    return {"channel": channel.id, "ts": message.ts, "message": message.as_json()}


def post_ephemeral(state: State, args: Arguments) -> Json:
    """chat.postEphemeral."""
    channel, viewer = writable(state, args), user(state, args.need("user")).id
    if viewer not in channel.members:
        raise SlackError("user_not_in_channel")
    message = _drafted(state, args, channel)
    message.viewer, message.metadata = viewer, None
    return {"message_ts": post(state, message).ts}


def update(state: State, args: Arguments) -> Json:
    """chat.update: the bot's own messages only; blocks and metadata stay when not given."""
    message = _own(state, args, "cant_update_message")
    if state.channels[message.channel].is_archived:
        raise SlackError("is_inactive")
    text, blocks = args.text("text"), _blocks(state, args)
    if text is None and not blocks:
        raise SlackError("no_text")
    metadata = args.json("metadata", "invalid_metadata_format")
    checked = None if metadata is None else (checked_metadata(metadata) or {})
    edit(state, message, Change(checked_text(text or "", UPDATE_TEXT), blocks, checked))
    return {
        "channel": message.channel,
        "ts": message.ts,
        "text": message.text,
        "message": message.as_json(),
    }


def remove(state: State, args: Arguments) -> Json:
    """chat.delete: the bot's own messages only."""
    message = _own(state, args, "cant_delete_message")
    delete(state, message, BOT_USER)
    return {"channel": message.channel, "ts": message.ts}


def permalink(state: State, args: Arguments) -> Json:
    """chat.getPermalink."""
    channel = state.channel(args.need("channel"))
    message = state.message(channel.id, args.need("message_ts"))
    if message is None:
        raise SlackError("message_not_found")
    link = f"{PERMALINK}/{channel.id}/p{message.ts.replace('.', '')}"
    return {"channel": channel.id, "permalink": link}


def react(state: State, args: Arguments) -> Json:
    """reactions.add."""
    channel = state.channel(args.need("channel"))
    message = state.message(channel.id, args.need("timestamp"))
    if message is None:
        raise SlackError("message_not_found")
    name = args.need("name")
    reacted = message.reactions.setdefault(name, [])
    if BOT_USER in reacted:
        raise SlackError("already_reacted")
    reacted.append(BOT_USER)
    state.record(Kind.REACTED, message, BOT_USER, f":{name}:")
    return {}


def writable(state: State, args: Arguments) -> Channel:
    """The channel asked for, if the bot may post there now."""
    channel = state.channel(args.need("channel"))
    inside = BOT_USER in channel.members
    if channel.is_private and not inside:
        raise SlackError("channel_not_found")
    if channel.is_archived:
        raise SlackError("is_archived")
    if channel.is_read_only:
        raise SlackError("restricted_action")
    if not inside and "chat:write.public" not in state.scopes:
        raise SlackError("not_in_channel")
    return channel


def _drafted(state: State, args: Arguments, channel: Channel) -> Message:
    text, blocks = args.text("text"), _blocks(state, args)
    if text is None and not blocks:
        raise SlackError("no_text")
    return Message(
        channel.id,
        "",
        BOT_USER,
        checked_text(text or "", MESSAGE_TEXT),
        blocks or [],
        thread_ts=args.text("thread_ts"),
        broadcast=args.flag("reply_broadcast"),
        metadata=checked_metadata(args.json("metadata", "invalid_metadata_format")),
    )


def _blocks(state: State, args: Arguments) -> list[Json] | None:
    given = args.json("blocks", "invalid_blocks_format")
    if given is None:
        return None
    if not isinstance(given, list):
        raise SlackError("invalid_blocks_format")
    blocks = checked_blocks(given, unsupported=state.faults.unsupported_blocks)
    _files_exist(state, blocks)
    return blocks


def _files_exist(state: State, part: Any) -> None:
    """Every slack_file shown anywhere is a file whose upload was completed."""
    if isinstance(part, list):
        for each in part:
            _files_exist(state, each)
    elif isinstance(part, dict):
        shown = part.get("slack_file")
        if shown and not _can_be_shown(state, shown):
            said = {"messages": ["[ERROR] invalid slack file [json-pointer:/blocks]"]}
            raise SlackError("invalid_blocks", response_metadata=said)
        _files_exist(state, list(part.values()))


def _can_be_shown(state: State, shown: Json) -> bool:
    """Whether it is a picture whose upload was completed, and that Slack has looked at."""
    file = state.files.get(shown.get("id", ""))
    if file is None or not file.is_complete or file.kind is None:
        return False
    looks = state.faults.looks_at_files
    state.faults.looks_at_files = max(looks - 1, 0)
    return looks == 0


def _own(state: State, args: Arguments, refusal: str) -> Message:
    channel = state.channels.get(args.need("channel"))
    if channel is None:
        raise SlackError("channel_not_found")
    message = state.message(channel.id, args.need("ts"))
    if message is None:
        raise SlackError("message_not_found")
    if message.user != BOT_USER:
        raise SlackError(refusal)
    return message


METHODS = {
    "chat.postMessage": Method(post_message, UNLIMITED, effect=True, scope="chat:write"),
    "chat.postEphemeral": Method(post_ephemeral, TIER_4, effect=True, scope="chat:write"),
    "chat.update": Method(update, TIER_3, effect=True, scope="chat:write"),
    "chat.delete": Method(remove, TIER_3, effect=True, scope="chat:write"),
    "chat.getPermalink": Method(permalink, UNLIMITED),
    "reactions.add": Method(react, TIER_3, effect=True, scope="reactions:write"),
}
