"""conversations.*, users.* and usergroups.*: who and what is there, page by page."""

from playground.slack import events
from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.methods import (
    PREFIX,
    Method,
    conversation,
    page,
    require,
    require_any,
    user,
)
from playground.slack.people import BOT_USER, Channel, Message
from playground.slack.posting import replies
from playground.slack.rates import TIER_2, TIER_3, TIER_4
from playground.slack.shapes import Json
from playground.slack.state import State

KINDS = ("public_channel", "private_channel", "im", "mpim")


def info(state: State, args: Arguments) -> Json:
    """conversations.info."""
    channel = conversation(state, args)
    seen = channel.as_json()
    if args.flag("include_num_members"):
        seen["num_members"] = len(channel.members)
    return {"channel": seen}


def history(state: State, args: Arguments) -> Json:
    """conversations.history: newest first, without replies that were not broadcast."""
    channel = _readable(state, args)
    shown = [m for m in channel.messages if not m.viewer and (not m.is_reply or m.broadcast)]
    return _messages(state, channel, list(reversed(shown)), args)


def thread(state: State, args: Arguments) -> Json:
    """conversations.replies: the parent and its replies, oldest first."""
    channel = _readable(state, args)
    wanted = args.need("ts")
    parent = next((m for m in channel.messages if m.ts == wanted and not m.viewer), None)
    if parent is None:
        raise SlackError("thread_not_found")
    return _messages(
        state, channel, [parent, *replies(channel, parent.thread_ts or parent.ts)], args
    )


def members(state: State, args: Arguments) -> Json:
    """conversations.members."""
    channel = conversation(state, args)
    found, following = page([{"id": each} for each in channel.members], args, 100)
    return {"members": [each["id"] for each in found], "response_metadata": following}


def join(state: State, args: Arguments) -> Json:
    """conversations.join, for public channels."""
    channel = state.channels.get(args.need("channel"))
    if channel is None or channel.is_private:
        raise SlackError("channel_not_found")
    if channel.im_with:
        raise SlackError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise SlackError("is_archived")
    if BOT_USER not in channel.members:
        channel.members.append(BOT_USER)
        events.joined(state, channel, BOT_USER)
        state.changed()
    return {"channel": channel.as_json()}


def open_im(state: State, args: Arguments) -> Json:
    """conversations.open with one person."""
    wanted = args.need("users")
    if "," in wanted:
        raise SlackError("method_not_supported_for_channel_type")
    other = user(state, wanted)
    if other.deleted:
        raise SlackError("user_disabled")
    if other.is_bot:
        raise SlackError("cannot_dm_bot")
    return {"channel": {"id": state.im(other.id).id}}


def list_conversations(state: State, args: Arguments) -> Json:
    """conversations.list; the bot must never need it."""
    state.violations.append("conversations.list")
    return _channels(list(state.channels.values()), args)


def list_users(state: State, args: Arguments) -> Json:
    """users.list; the bot must never need it."""
    state.violations.append("users.list")
    found = [each.as_json(state.clock.now(), email=False) for each in state.users.values()]
    shown, following = page(found, args, 100)
    return {"members": shown, "response_metadata": following}


def user_info(state: State, args: Arguments) -> Json:
    """users.info."""
    found = user(state, args.need("user"))
    return {"user": found.as_json(state.clock.now(), email="users:read.email" in state.scopes)}


def user_conversations(state: State, args: Arguments) -> Json:
    """users.conversations: the channels of a user, or of the bot itself."""
    kinds = (args.text("types") or "public_channel").split(",")
    if set(kinds) - set(KINDS):
        raise SlackError("invalid_types")
    for kind in kinds:
        require(state, f"{PREFIX.get(kind, 'mpim')}:read")
    who = user(state, args.text("user") or BOT_USER).id
    mine = [c for c in state.channels.values() if who in c.members and c.kind in kinds]
    return _channels(
        [c for c in mine if c.kind != "private_channel" or BOT_USER in c.members], args
    )


def groups(state: State, args: Arguments) -> Json:
    """usergroups.list."""
    everything = args.flag("include_disabled")
    shown = [group for group in state.groups.values() if everything or not group.disabled]
    return {"usergroups": [group.as_json(users=args.flag("include_users")) for group in shown]}


def group_users(state: State, args: Arguments) -> Json:
    """usergroups.users.list."""
    group = state.groups.get(args.need("usergroup"))
    if group is None or (group.disabled and not args.flag("include_disabled")):
        raise SlackError("no_such_subteam")
    return {"users": list(group.users)}


def _readable(state: State, args: Arguments) -> Channel:
    channel = conversation(state, args, "history")
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _messages(state: State, channel: Channel, found: list[Message], args: Arguments) -> Json:
    metadata = args.flag("include_all_metadata")
    within = [m for m in found if _between(m.ts, args)]
    seen = [_seen(channel, m, metadata=metadata) for m in within]
    if state.faults.hides_files:
        seen = [{name: each[name] for name in each if name != "files"} for each in seen]
    shown, following = page(seen, args, 100)
    more = bool(following["next_cursor"])
    answer: Json = {"messages": shown, "has_more": more}
    return {**answer, "response_metadata": following} if more else answer


def _between(ts: str, args: Arguments) -> bool:
    moment = float(ts)
    oldest, latest = float(args.text("oldest") or 0), float(args.text("latest") or "inf")
    if args.flag("inclusive"):
        return oldest <= moment <= latest
    return oldest < moment < latest


def _seen(channel: Channel, message: Message, *, metadata: bool) -> Json:
    """A message as history shows it, with the size of its thread."""
    seen = message.as_json(metadata=metadata)
    under = [] if message.is_reply else replies(channel, message.ts)
    if under:
        seen |= {
            "reply_count": len(under),
            "reply_users": list(dict.fromkeys(each.user for each in under)),
            "latest_reply": under[-1].ts,
        }
    return seen


def _channels(channels: list[Channel], args: Arguments) -> Json:
    found = [c for c in channels if not (args.flag("exclude_archived") and c.is_archived)]
    shown, following = page([channel.as_json() for channel in found], args, 100)
    return {"channels": shown, "response_metadata": following}


def _any_list(state: State, args: Arguments) -> Json:
    require_any(state, ["channels:read", "groups:read", "im:read", "mpim:read"])
    return list_conversations(state, args)


_GROUPS = "usergroups:read"

METHODS = {
    "conversations.info": Method(info, TIER_3),
    "conversations.history": Method(history, TIER_3),
    "conversations.replies": Method(thread, TIER_3),
    "conversations.members": Method(members, TIER_4),
    "conversations.join": Method(join, TIER_3, effect=True, scope="channels:join"),
    "conversations.open": Method(open_im, TIER_3, effect=True, scope="im:write"),
    "conversations.list": Method(_any_list, TIER_2, of_workspace=True),
    "users.list": Method(list_users, TIER_2, scope="users:read", of_workspace=True),
    "users.info": Method(user_info, TIER_4, scope="users:read"),
    "users.conversations": Method(user_conversations, TIER_3, of_workspace=True),
    "usergroups.list": Method(groups, TIER_2, scope=_GROUPS, of_workspace=True),
    "usergroups.users.list": Method(group_users, TIER_2, scope=_GROUPS, of_workspace=True),
}
