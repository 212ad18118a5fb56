"""The payloads Slack sends, field by field."""

import secrets
from typing import Any

from playground.slack.people import APP, BOT_USER, TEAM, Channel, Message, User
from playground.slack.shapes import Json
from playground.slack.views import View

DOMAIN = "acme"


def slash(token: str, user: User, channel: Channel, command: str, text: str) -> Json:
    """A slash command; trigger_id and response_url are added by the caller."""
    return {
        "token": token,
        "team_id": user.team_id,
        "team_domain": DOMAIN,
        "channel_id": channel.id,
        "channel_name": "directmessage" if channel.im_with else channel.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": APP,
        "is_enterprise_install": "false",
    }


def event(token: str, inner: Json, moment: float, *, is_shared: bool) -> Json:
    """An event with its envelope, its event_id, and whom the app acts for."""
    return {
        "token": token,
        "team_id": TEAM,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": APP,
        "event": inner,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(moment),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": is_shared,
        "event_context": secrets.token_hex(8),
    }


def interaction(kind: str, token: str, user: User) -> Json:
    """What every interaction begins with."""
    return {
        "type": kind,
        "team": {"id": TEAM, "domain": DOMAIN},
        "user": {
            "id": user.id,
            "username": user.name,
            "name": user.name,
            "team_id": user.team_id,
        },
        "api_app_id": APP,
        "token": token,
        "enterprise": None,
        "is_enterprise_install": False,
    }


def in_message(message: Message, channel: Channel) -> Json:
    """Where a click in a message came from; an ephemeral message itself is not sent along."""
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": message.viewer is not None,
    }
    if message.is_reply:
        container["thread_ts"] = message.thread_ts
    name = "directmessage" if channel.im_with else channel.name
    place: Json = {"container": container, "channel": {"id": channel.id, "name": name}}
    return place if message.viewer else {**place, "message": message.as_json(metadata=False)}


def on_message(message: Message, channel: Channel) -> Json:
    """The message whose shortcut was used."""
    return {
        "message_ts": message.ts,
        "channel": {"id": channel.id, "name": "directmessage" if channel.im_with else channel.name},
        "message": message.as_json(metadata=False),
    }


def in_view(view: View) -> Json:
    """Where a click in a form or Home tab came from."""
    return {"container": {"type": "view", "view_id": view.id}, "view": view.as_json()}


def action(block: Json, element: Json, option: Json | None, stamp: str) -> Json:
    """One entry of `actions`: the element that was used and its value."""
    used: Json = {
        "type": element["type"],
        "block_id": block["block_id"],
        "action_id": element["action_id"],
        "action_ts": stamp,
    }
    for name in ("text", "value", "style", "confirm", "placeholder"):
        if name in element:
            used[name] = element[name]
    return used if option is None else {**used, "selected_option": option}


def state_value(element: Json, value: Any) -> Json:
    """What `state.values` holds for one input element, in that element's own words."""
    kind = element["type"]
    return {"type": kind, _FIELD.get(kind, "value"): _in_words(element, kind, value)}


_FIELD = {
    "static_select": "selected_option",
    "external_select": "selected_option",
    "radio_buttons": "selected_option",
    "multi_static_select": "selected_options",
    "multi_external_select": "selected_options",
    "checkboxes": "selected_options",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
    "users_select": "selected_user",
    "multi_users_select": "selected_users",
    "channels_select": "selected_channel",
    "multi_channels_select": "selected_channels",
    "conversations_select": "selected_conversation",
    "multi_conversations_select": "selected_conversations",
}


def _in_words(element: Json, kind: str, value: Any) -> Any:
    if _FIELD.get(kind) == "selected_option":
        return None if value is None else option_of(element, value)
    if _FIELD.get(kind) == "selected_options":
        return [option_of(element, each) for each in value or []]
    return value


def changed(block: Json, state: Json, stamp: str) -> Json:
    """One entry of `actions`: the input that was changed, with what it holds now."""
    held = next(iter(state.values()))
    action_id = block["element"]["action_id"]
    return {"block_id": block["block_id"], "action_id": action_id, "action_ts": stamp, **held}


def suggestion(view: View, block: Json, typed: str) -> Json:
    """What Slack adds when it asks for the options of a field in a form."""
    ids = {"block_id": block["block_id"], "action_id": block["element"]["action_id"]}
    return {**in_view(view), **ids, "value": typed}


def option_of(element: Json, wanted: str) -> Json:
    """The option with this value or this label; raises KeyError when there is none."""
    groups = element.get("option_groups", [])
    offered = [*element.get("options", []), *(o for group in groups for o in group["options"])]
    for option in offered:
        if wanted in (option["value"], option["text"]["text"]):
            return dict(option)
    raise KeyError(wanted)
