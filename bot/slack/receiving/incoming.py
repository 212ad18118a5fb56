"""Requests from Slack, independent of their transport, and the interface that answers them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from bot.slack.card import Reply
from bot.slack.forms.form import place_of
from bot.slack.forms.view import CALLBACK, filled
from bot.slack.home.tabs import HomeOpened
from bot.slack.home.view import home_channel

Payload = Mapping[str, Any]
Foreground = Callable[[], AbstractContextManager[None]]


@dataclass
class Arrival:
    """How a request came: `received` on `time.monotonic()`, `doubted` when sent before.

    `incoming` is what it says to us, once it was verified; None where it says nothing. What is in
    `then` runs once the acknowledgement is on its way.
    """

    received: float
    doubted: bool = False
    incoming: "Incoming | None" = None
    then: list[Callable[[], None]] = field(default_factory=list)

    def acknowledged(self) -> None:
        """Starts what follows the acknowledgement."""
        for follow in self.then:
            follow()


@dataclass(frozen=True)
class Incoming:
    """One command, mention, click, shortcut, or use of a form, of a person.

    `command` is the slash name without slash, a button's action, or the id of a shortcut; `words`
    what follows the name or the mention. Of a form `words` is the verb, `fields` what its fields
    hold, and `view_id` its id. It was sent (`form`), a field was changed (`form-change`), or the
    options of the field `field_name` are asked for (`options`), with what was typed there as
    `value`.
    `delivery` is what a second delivery of the same has in common (trigger or event id),
    `doubted` says that Slack itself calls this a repeated delivery. `message_ts` is the message
    that was clicked or that mentions us; `received` is a `time.monotonic()` moment. A click
    `in_home` came from the person's Home tab; its channel are their direct messages. `opened` says
    only that they opened these.
    The message that a shortcut was used on `has_files` or not.
    """

    kind: Literal[
        "command", "button", "mention", "shortcut", "form", "form-change", "options", "opened"
    ]
    person: str
    channel: str
    thread_ts: str | None
    words: str
    command: str
    value: str
    delivery: str
    trigger_id: str | None
    response_url: str | None
    message_ts: str | None
    received: float
    doubted: bool
    fields: Mapping[str, str] = field(default_factory=dict)
    field_name: str = ""
    view_id: str = ""
    in_home: bool = False
    has_files: bool = False


@dataclass(frozen=True)
class StepRun:
    """One run of a step of ours in a workflow; `inputs` are what its author or people filled in.

    Slack does not say who ran it.
    """

    callback_id: str
    execution_id: str
    inputs: Mapping[str, str]


class Dispatcher(Protocol):
    """Answers requests."""

    def answer(self, incoming: Incoming) -> Reply | None:
        """The reply that only this person sees, within milliseconds; raises nothing."""
        ...

    def channel_changed(self, channel_id: str) -> None:
        """Notes that another company came into a channel or left it; Slack repeats what raises."""
        ...

    def bot_joined(self, channel_id: str, event_id: str) -> None:
        """Notes that the bot was added to a channel; Slack repeats what raises."""
        ...

    def step_begun(self, run: StepRun) -> None:
        """Notes that a step of a workflow is to be done; Slack repeats what raises."""
        ...


class HomeDispatcher(Dispatcher, Protocol):
    """Answers requests, and keeps Home tabs."""

    def home_opened(self, opened: HomeOpened) -> None:
        """Notes that a person opened their Home tab; Slack repeats what raises."""
        ...


def command_from(payload: Payload, arrival: Arrival) -> Incoming:
    """A slash command; Slack does not say in which thread it was typed."""
    return Incoming(
        kind="command",
        person=payload["user_id"],
        channel=payload["channel_id"],
        thread_ts=None,
        words=payload.get("text", ""),
        command=payload["command"].removeprefix("/"),
        value="",
        delivery=payload["trigger_id"],
        trigger_id=payload["trigger_id"],
        response_url=payload.get("response_url"),
        message_ts=None,
        received=arrival.received,
        doubted=arrival.doubted,
    )


def button_from(payload: Payload, arrival: Arrival) -> Incoming:
    """A click; its value is the button's, or what was chosen in a menu."""
    action = payload["actions"][0]
    message = payload.get("message") or {}
    container = payload.get("container") or {}
    home = home_channel(payload.get("view") or {})
    return Incoming(
        kind="button",
        person=payload["user"]["id"],
        channel=(payload.get("channel") or {}).get("id", home),
        thread_ts=message.get("thread_ts") or container.get("thread_ts"),
        words="",
        command=action["action_id"],
        value=action.get("value") or (action.get("selected_option") or {}).get("value", ""),
        delivery=payload["trigger_id"],
        trigger_id=payload["trigger_id"],
        response_url=payload.get("response_url"),
        message_ts=container.get("message_ts") or message.get("ts"),
        received=arrival.received,
        doubted=arrival.doubted,
        in_home=bool(home),
    )


def shortcut_from(payload: Payload, arrival: Arrival) -> Incoming:
    """A shortcut from the menu of a message; one from the other menu has no channel."""
    message = payload.get("message") or {}
    return Incoming(
        kind="shortcut",
        person=payload["user"]["id"],
        channel=(payload.get("channel") or {}).get("id", ""),
        thread_ts=message.get("thread_ts"),
        words="",
        command=payload["callback_id"],
        value="",
        delivery=payload["trigger_id"],
        trigger_id=payload["trigger_id"],
        response_url=payload.get("response_url"),
        message_ts=message.get("ts"),
        received=arrival.received,
        doubted=arrival.doubted,
        has_files=bool(message.get("files")),
    )


def form_from(payload: Payload, arrival: Arrival) -> Incoming | None:
    """A filled form that was sent; None for a view that is no form of ours."""
    return _of_form("form", payload, arrival)


def form_change_from(payload: Payload, arrival: Arrival) -> Incoming | None:
    """A changed field of an open form; None for a view that is no form of ours."""
    return _of_form("form-change", payload, arrival)


def options_from(payload: Payload, arrival: Arrival) -> Incoming | None:
    """The options of a field of a form, asked for; None for what is no form of ours."""
    found = _of_form("options", payload, arrival)
    name, typed = str(payload.get("block_id", "")), str(payload.get("value") or "")
    return found and replace(found, field_name=name, value=typed)


def _of_form(
    kind: Literal["form", "form-change", "options"], payload: Payload, arrival: Arrival
) -> Incoming | None:
    view = payload.get("view") or {}
    place = place_of(view.get("private_metadata", ""))
    if view.get("callback_id") != CALLBACK or place is None:
        return None
    # Slack gives no trigger with a request for options.
    trigger = payload.get("trigger_id")
    return Incoming(
        kind=kind,
        person=payload["user"]["id"],
        channel=place.channel,
        thread_ts=place.thread_ts,
        words=place.verb,
        command=place.command,
        value="",
        delivery=trigger or "",
        trigger_id=trigger,
        response_url=None,
        message_ts=None,
        received=arrival.received,
        doubted=arrival.doubted,
        fields=filled(view),
        view_id=str(view.get("id", "")),
    )


def mention_from(payload: Payload, arrival: Arrival) -> Incoming | None:
    """A message to us, by mention or direct; None for edits, what bots write, and other events."""
    event, ourselves = payload["event"], _ourselves(payload)
    is_of_bot = event.get("bot_id") or event.get("user") == ourselves
    if is_of_bot or not event.get("user") or not _is_to_us(event):
        return None
    return Incoming(
        kind="mention",
        person=event["user"],
        channel=event["channel"],
        thread_ts=event.get("thread_ts"),
        words=_without_mention(event.get("text", ""), ourselves),
        command="",
        value="",
        delivery=payload["event_id"],
        trigger_id=None,
        response_url=None,
        message_ts=event["ts"],
        received=arrival.received,
        doubted=arrival.doubted,
    )


def home_from(payload: Payload) -> HomeOpened | None:
    """That a person opened their Home tab; None for the other tabs of the app."""
    event = payload["event"]
    if event.get("tab") != "home":
        return None
    return HomeOpened(event["user"], event["channel"], is_blank="view" not in event)


def opened_from(payload: Payload, arrival: Arrival) -> Incoming | None:
    """That a person opened their direct messages with us; None for the other tabs of the app."""
    event = payload["event"]
    if event.get("tab") != "messages":
        return None
    return Incoming(
        kind="opened",
        person=event["user"],
        channel=event["channel"],
        thread_ts=None,
        words="",
        command="",
        value="",
        delivery=payload["event_id"],
        trigger_id=None,
        response_url=None,
        message_ts=None,
        received=arrival.received,
        doubted=arrival.doubted,
    )


def step_from(payload: Payload) -> StepRun:
    """A step of a workflow; inputs that are no text are written as text."""
    event = payload["event"]
    given = event.get("inputs") or {}
    inputs = {name: "" if value is None else str(value) for name, value in given.items()}
    return StepRun(event["function"]["callback_id"], event["function_execution_id"], inputs)


def is_our_arrival(payload: Payload) -> bool:
    """Whether the bot joined a channel that another company does not see."""
    is_ours = payload["event"].get("user") == _ourselves(payload)
    return is_ours and not payload.get("is_ext_shared_channel")


def _is_to_us(event: Payload) -> bool:
    """Whether it is a new message to us, once: a direct one may come as a mention, too."""
    if event.get("subtype") or event.get("edited"):
        return False
    is_direct = event.get("channel", "").startswith("D")
    if event["type"] == "message":
        return is_direct and event.get("channel_type") == "im"
    return event["type"] == "app_mention" and not is_direct


def _ourselves(payload: Payload) -> str:
    authorizations = payload.get("authorizations") or [{}]
    return str(authorizations[0].get("user_id", ""))


def _without_mention(text: str, user_id: str) -> str:
    return text.replace(f"<@{user_id}>", "", 1).strip()
