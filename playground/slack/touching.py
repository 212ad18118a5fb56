"""People using buttons and menus, with all that Slack puts between them and the bot."""

from collections.abc import Iterable
from dataclasses import dataclass

from playground.slack import payloads
from playground.slack.errors import DeliveryError, PersonError
from playground.slack.limits import elements_of
from playground.slack.people import Message
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.transcript import Kind
from playground.slack.views import View

TROUBLE = "We had some trouble connecting. Try again?"
_MENUS = ("static_select", "overflow", "radio_buttons")


@dataclass(frozen=True)
class Touch:
    """One use of a control: whose, which (action_id or label), and with what.

    `block` chooses among blocks whose controls are called the same.
    """

    user: str
    control: str
    confirm: bool = False
    option: str | None = None
    block: str | None = None


async def click(state: State, where: Message | View, touch: Touch) -> Json | None:
    """Uses a control, and returns the confirm dialog the person went through, if any."""
    must_see(state, where, touch.user)
    blocks = where.blocks if isinstance(where, Message) else where.body["blocks"]
    block, element = _control(blocks, touch)
    option = _option(element, touch.option)
    dialog: Json | None = element.get("confirm")
    if dialog is not None and not touch.confirm:
        raise PersonError(f"asks first: {dialog['title']['text']}: {dialog['text']['text']}")
    act = payloads.action(block, element, option, state.next_ts())
    state.note(Kind.CLICKED, touch.user, _told(element, option, dialog), _channel_of(where))
    payload = _click_payload(state, where, touch.user) | {"actions": [act]}
    try:
        await state.interact(payload)
    except DeliveryError:
        state.note(Kind.FAILED, touch.user, TROUBLE, _channel_of(where))
    return dialog


def must_see(state: State, where: Message | View, user: str) -> None:
    """Raises PersonError when this person does not have it on the screen."""
    if isinstance(where, View):
        if where.user != user or not where.is_open:
            raise PersonError(f"{state.name_of(user)} does not see this form")
        return
    shown = {message.ts for message in state.visible(user, where.channel)}
    if where.ts not in shown or where.viewer not in (None, user):
        raise PersonError(f"{state.name_of(user)} does not see this message")


def _control(blocks: Iterable[Json], touch: Touch) -> tuple[Json, Json]:
    wanted, offered = touch.control, []
    for block in (each for each in blocks if touch.block in (None, each["block_id"])):
        for element in elements_of(block):
            label = element.get("text", {}).get("text", "")
            if wanted in (element.get("action_id"), label):
                return block, element
            offered.append(label or element.get("action_id", ""))
    raise PersonError(f"no control {wanted} here; there is: {', '.join(offered) or 'none'}")


def _option(element: Json, wanted: str | None) -> Json | None:
    if element["type"] not in _MENUS:
        return None
    try:
        return payloads.option_of(element, wanted or "")
    except KeyError:
        raise PersonError(f"no option {wanted} in this menu") from None


def _told(element: Json, option: Json | None, dialog: Json | None) -> str:
    label = element.get("text", {}).get("text") or element["action_id"]
    chosen = f": {option['text']['text']}" if option else ""
    asked = f" and confirms: {dialog['text']['text']}" if dialog else ""
    return f"[{label}{chosen}]{asked}"


def _channel_of(where: Message | View) -> str:
    return where.channel if isinstance(where, Message) else ""


def _click_payload(state: State, where: Message | View, user: str) -> Json:
    token = state.credentials.verification
    payload = payloads.interaction("block_actions", token, state.users[user])
    if isinstance(where, View):
        payload["trigger_id"] = state.triggers.issue(user, where.id)
        return payload | payloads.in_view(where)
    live = next(m for m in state.channel(where.channel).messages if m.ts == where.ts)
    url = state.response_urls.issue(user, where.channel, live)
    payload |= {
        "trigger_id": state.triggers.issue(user),
        "response_url": state.base_url + url,
        "state": {"values": {}},
    }
    return payload | payloads.in_message(where, state.channel(where.channel))
