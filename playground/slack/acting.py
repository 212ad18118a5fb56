"""People typing: slash commands, mentions, the Home tab, and what Slack does with the answers."""

from typing import Any

from playground.slack import answers, organisation, payloads
from playground.slack.errors import DeliveryError, PersonError, SlackError
from playground.slack.events import publish
from playground.slack.mrkdwn import entities, typed
from playground.slack.people import BOT_USER, SLACKBOT, Channel, Message
from playground.slack.posting import Change, edit, post
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.touching import TROUBLE
from playground.slack.transcript import Kind
from playground.slack.triggers import ResponseUrl

OVERDUE = "operation_timeout"
"""What Slack says of a command that was not acknowledged in time."""
SHOWN_ERRORS = {
    "timeout": OVERDUE,
    "http_timeout": OVERDUE,
    "connection_failed": "dispatch_failed",
    "http_error": "dispatch_failed",
    "no_retry": "dispatch_failed",
}


async def slash(state: State, user: str, channel: str, text: str) -> list[Message]:
    """Types a slash command in a channel, and shows the bot's direct answer or Slack's error."""
    place = present(state, user, channel)
    command, _, rest = text.strip().partition(" ")
    # Others have the commands of their own workspace.
    if command not in state.app.commands or not state.has_app(user):
        return [_slackbot(state, user, place, f"`{command}` is not a valid command.")]
    state.note(Kind.TYPED, user, text, place.id)
    written = typed(rest, state, labels=True) if state.app.commands[command] else entities(rest)
    token = state.credentials.verification
    payload = payloads.slash(token, state.users[user], place, command, written.strip())
    payload["trigger_id"] = state.triggers.issue(user)
    payload["response_url"] = state.base_url + state.response_urls.issue(user, place.id)
    if state.is_org_wide:
        payload = organisation.slash(payload)
    try:
        bodies = await state.courier.interact("slash_commands", payload)
    except DeliveryError as error:
        shown = SHOWN_ERRORS[str(error)]
        return [_slackbot(state, user, place, f'{command} failed with the error "{shown}"')]
    return [m for body in bodies for m in _shown(state, user, place, body)]


def mention(state: State, user: str, channel: str, text: str, thread_ts: str | None) -> Message:
    """Writes a message that calls the bot; in direct messages it needs no @."""
    place = present(state, user, channel)
    message = Message(place.id, "", user, _addressed(state, place, text), thread_ts=thread_ts)
    return post(state, message)


def write(state: State, user: str, channel: str, text: str, thread_ts: str | None) -> Message:
    """Writes a message to whoever is there; only a mention in it calls the bot."""
    place = present(state, user, channel)
    written = typed(text, state, labels=False)
    return post(state, Message(place.id, "", user, written, thread_ts=thread_ts))


async def again(state: State) -> str:
    """Delivers the last payload to the bot once more, as Slack may; says which kind it was."""
    if state.courier.last is None:
        raise PersonError("there is no act to deliver again yet")
    kind, payload = state.courier.last
    if kind == "events_api":
        state.courier.publish(payload)
        return f"the event {payload['event']['type']}"
    told = payload.get("command") or payload["type"]
    user = payload.get("user_id") or payload["user"]["id"]
    try:
        bodies = await state.courier.interact(kind, payload)
    except DeliveryError:
        state.note(Kind.FAILED, user, f"{told} was delivered again, and not acknowledged")
        return str(told)
    if kind == "slash_commands":
        for body in bodies:
            _shown(state, user, state.channel(payload["channel_id"]), body)
    return str(told)


def rewrite(state: State, user: str, message: Message, text: str) -> None:
    """Edits a message that this person wrote."""
    place = present(state, user, message.channel)
    if message.user != user:
        raise PersonError(f"{state.name_of(user)} did not write this message")
    edit(state, message, Change(_addressed(state, place, text)))


async def shortcut(state: State, user: str, name: str, message: Message | None = None) -> None:
    """Uses a shortcut of the app, by its name: of a message, or of the other menu."""
    kind = "message" if message else "global"
    known = [each for each in state.app.shortcuts.values() if each["type"] == kind]
    found = next((each for each in known if each["name"] == name), None)
    if found is None or not state.has_app(user):
        offered = ", ".join(each["name"] for each in known) or "none"
        raise PersonError(f"there is no shortcut {name}; there is: {offered}")
    place = state.channel(message.channel) if message else None
    if message and message.ts not in {each.ts for each in state.visible(user, message.channel)}:
        raise PersonError(f"{state.name_of(user)} does not see this message")
    state.note(Kind.CLICKED, user, f"uses the shortcut {name}", place.id if place else "")
    of = "message_action" if message else "shortcut"
    payload = payloads.interaction(of, state.credentials.verification, state.users[user])
    payload |= {
        "callback_id": found["callback_id"],
        "trigger_id": state.triggers.issue(user),
        "action_ts": state.next_ts(),
    }
    if message and place:
        url = state.response_urls.issue(user, place.id)
        payload |= payloads.on_message(message, place) | {"response_url": state.base_url + url}
    try:
        await state.interact(payload)
    except DeliveryError:
        state.note(Kind.FAILED, user, TROUBLE, place.id if place else "")


def open_home(state: State, user: str, tab: str) -> None:
    """Opens a tab of the app, `home` or `messages`; the bot is told."""
    if tab == "home" and not state.app.has_home:
        raise PersonError("this app has no Home tab")
    inner = {
        "type": "app_home_opened",
        "user": user,
        "channel": state.im(user).id,
        "tab": tab,
        "event_ts": state.next_ts(),
    }
    home = state.views.homes.get(user) if tab == "home" else None
    state.note(Kind.VIEW, user, f"opens the {tab.capitalize()} tab")
    told = inner if home is None else {**inner, "view": home.as_json()}
    publish(state, "app_home_opened", told)


def prompts(state: State, user: str) -> list[Json]:
    """What the agent view suggests to a person: what the bot set last, else by the manifest."""
    if not state.app.has_agent_view:
        raise PersonError("this app has no agent view")
    return list(state.prompts.get(state.im(user).id, state.app.prompts))


def choose(state: State, user: str, title: str) -> Message:
    """Chooses a suggested prompt, which sends its message to the bot."""
    offered = {each["title"]: each["message"] for each in prompts(state, user)}
    if title not in offered:
        raise PersonError(f"no prompt {title} is suggested; there is: {', '.join(offered)}")
    return mention(state, user, state.im(user).id, offered[title], None)


def present(state: State, user: str, channel: str) -> Channel:
    """The channel, if this person can write there."""
    place = state.channel(channel)
    if user not in place.members:
        raise PersonError(f"{state.name_of(user)} is not in {place.name}")
    if place.is_archived:
        raise PersonError(f"{place.name} is archived")
    if not state.has_app(user) and not (place.is_ext_shared or place.im_with):
        raise PersonError(f"{place.name} is not shared with the company of {state.name_of(user)}")
    if place.im_with and not state.app.takes_messages:
        raise PersonError("Sending messages to this app has been turned off.")
    return place


def _shown(state: State, user: str, place: Channel, body: Any) -> list[Message]:
    """What a direct answer puts on the screen; nothing when it is empty."""
    if not body:
        return []
    try:
        return answers.show(state, ResponseUrl(user, place.id, 0), body)
    except SlackError as error:
        return [_slackbot(state, user, place, f'the command failed with the error "{error.code}"')]


def _slackbot(state: State, user: str, place: Channel, text: str) -> Message:
    return post(state, Message(place.id, "", SLACKBOT, text, viewer=user))


def _addressed(state: State, place: Channel, text: str) -> str:
    written = typed(text, state, labels=False)
    called = f"<@{BOT_USER}>"
    return written if place.im_with or called in written else f"{called} {written}"
