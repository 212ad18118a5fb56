"""Message events that Slack sends to the app, as far as the app is subscribed."""

from playground.slack import organisation, payloads
from playground.slack.people import BOT_USER, PARTNER, Channel, Message
from playground.slack.shapes import Json
from playground.slack.state import State

_TYPES = {
    "public_channel": ("message.channels", "channel"),
    "private_channel": ("message.groups", "group"),
    "im": ("message.im", "im"),
}


def publish(state: State, event: str, inner: Json, place: Channel | None = None) -> None:
    """Sends an event to the app, if it is subscribed to it and has its scope."""
    if state.app.hears(event, state.scopes):
        token, moment = state.credentials.verification, state.clock.now().timestamp()
        is_shared = place is not None and place.is_ext_shared
        payload = payloads.event(token, inner, moment, is_shared=is_shared)
        state.courier.publish(organisation.event(payload) if state.is_org_wide else payload)


def posted(state: State, message: Message) -> None:
    """Tells the app of a new message: its own as much as those of people."""
    inner = _message(state, message) | {"event_ts": message.ts}
    mentioned = f"<@{BOT_USER}>" in message.text and message.user != BOT_USER
    place = state.channel(message.channel)
    if mentioned and (not place.im_with or state.faults.mentions_in_direct_messages):
        _mention(state, place, message, message.ts)
    _publish_message(state, place, inner)


def edited(state: State, message: Message, before: Json) -> None:
    """Tells the app of an edit; a mention counts again, with `edited` set, as Slack has it."""
    place, stamp = state.channel(message.channel), message.edited_at
    if f"<@{BOT_USER}>" in message.text and message.user != BOT_USER and not place.im_with:
        _mention(state, place, message, stamp)
    now = message.as_json() | {"edited": {"user": message.user, "ts": stamp}}
    inner = _about(place, "message_changed", stamp) | {"message": now, "previous_message": before}
    _publish_message(state, place, inner)


def shared(state: State, place: Channel) -> None:
    """Tells the app that another company came into a channel, or left it."""
    if BOT_USER not in place.members or (place.is_private and "groups:read" not in state.scopes):
        return
    inner: Json = {"channel": place.id, "event_ts": state.next_ts()}
    if place.is_ext_shared:
        kind, inner["connected_team_id"] = "channel_shared", PARTNER
    else:
        kind, inner["previously_connected_team_id"] = "channel_unshared", PARTNER
        inner["is_ext_shared"] = False
    publish(state, kind, {"type": kind} | inner, place)


def joined(state: State, place: Channel, user: str) -> None:
    """Tells the app that somebody, or the app itself, came into a channel where it is."""
    if BOT_USER not in place.members or (place.is_private and "groups:read" not in state.scopes):
        return
    kind = "member_joined_channel"
    inner: Json = {
        "type": kind,
        "user": user,
        "channel": place.id,
        "channel_type": "G" if place.is_private else "C",
        "team": state.users[user].team_id,
        "event_ts": state.next_ts(),
    }
    publish(state, kind, inner, place)


def deleted(state: State, message: Message, before: Json) -> None:
    """Tells the app that a message is gone."""
    place = state.channel(message.channel)
    inner = _about(place, "message_deleted", state.next_ts())
    inner |= {"deleted_ts": message.ts, "previous_message": before}
    _publish_message(state, place, inner)


def _publish_message(state: State, place: Channel, inner: Json) -> None:
    event, kind = _TYPES[place.kind]
    if BOT_USER in place.members:
        publish(state, event, inner | {"channel_type": kind}, place)


def _mention(state: State, place: Channel, message: Message, stamp: str) -> None:
    if BOT_USER not in place.members:
        return
    inner = _message(state, message) | {"type": "app_mention", "event_ts": stamp}
    if message.edits:
        inner["edited"] = {"user": message.user, "ts": stamp}
    publish(state, "app_mention", inner, place)


def _message(state: State, message: Message) -> Json:
    """The fields of a message in an event about it."""
    inner = message.as_json(metadata=False) | {"channel": message.channel}
    inner["team"] = state.users[message.user].team_id
    if not message.is_reply:
        inner.pop("thread_ts", None)
    return inner


def _about(place: Channel, subtype: str, stamp: str) -> Json:
    return {
        "type": "message",
        "subtype": subtype,
        "channel": place.id,
        "hidden": True,
        "ts": stamp,
        "event_ts": stamp,
    }
