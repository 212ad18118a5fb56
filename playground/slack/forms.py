"""People filling forms: what Slack checks itself, what it sends, and what the answer does."""

from collections.abc import Iterator
from typing import Any

from playground.slack import payloads
from playground.slack.errors import DeliveryError, PersonError, SlackError
from playground.slack.limits import checked_options, checked_view
from playground.slack.people import Message
from playground.slack.posting import text_of
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.touching import TROUBLE, must_see
from playground.slack.transcript import Kind
from playground.slack.views import View


async def submit_view(state: State, user: str, view: View, values: Json) -> dict[str, str]:
    """Fills and sends a form; returns the errors shown beside its fields, by block_id."""
    must_see(state, view, user)
    await _search(state, user, view, values)
    view.values = _filled(view, values)
    state.note(Kind.SUBMITTED, user, f"sends the form {view.body['title']['text']}")
    payload = payloads.interaction(
        "view_submission", state.credentials.verification, state.users[user]
    )
    payload |= {
        "trigger_id": state.triggers.issue(user, view.id),
        "view": view.as_json(),
        "response_urls": [],
    }
    try:
        bodies = await state.interact(payload)
    except DeliveryError:
        state.note(Kind.FAILED, user, TROUBLE)
        return {"": TROUBLE}
    for body in bodies:
        if view.is_open:
            _respond(state, view, body)
    return view.errors


async def change_field(state: State, user: str, view: View, given: Json, name: str) -> None:
    """Changes one field of a form; the bot gets them all where the form asked for that."""
    must_see(state, view, user)
    await _search(state, user, view, {name: given[name]})
    there = {each for block in _inputs(view) for each in _names(block)} | {name}
    known = {each: value for each, value in given.items() if each in there}  # it may have changed
    values = _filled(view, known, is_sent=False)
    block = next(block for block in _inputs(view) if name in _names(block))
    view.values = values
    if not block.get("dispatch_action"):
        return
    payload = payloads.interaction(
        "block_actions", state.credentials.verification, state.users[user]
    )
    payload |= payloads.in_view(view)
    payload["trigger_id"] = state.triggers.issue(user, view.id)
    payload["actions"] = [payloads.changed(block, values[block["block_id"]], state.next_ts())]
    try:
        await state.interact(payload)
    except DeliveryError:
        state.note(Kind.FAILED, user, TROUBLE)


async def search_options(state: State, user: str, view: View, name: str, typed: str) -> list[Json]:
    """Types into a field with options to search for; returns what the bot offers."""
    must_see(state, view, user)
    block = next((block for block in _inputs(view) if name in _names(block)), None)
    if block is None or "external" not in block["element"]["type"]:
        raise PersonError(f"the form has no field {name} to search in")
    payload = payloads.interaction(
        "block_suggestion", state.credentials.verification, state.users[user]
    )
    try:
        bodies = await state.interact(payload | payloads.suggestion(view, block, typed))
    except DeliveryError:
        raise PersonError(f"{block['label']['text']}: the options could not be loaded") from None
    found = [option for body in bodies for option in checked_options(body)]
    view.offered.setdefault(block["block_id"], []).extend(found)
    return found


async def _search(state: State, user: str, view: View, values: Json) -> None:
    """Looks for the wanted options of fields that have to be searched, as a person types them."""
    for block in _inputs(view):
        given = next((values[name] for name in _names(block) if name in values), None)
        if given and "external" in block["element"]["type"]:
            for wanted in [given] if isinstance(given, str) else given:
                await search_options(state, user, view, block["block_id"], wanted)


async def close_view(state: State, user: str, view: View) -> None:
    """Closes a form; the bot is told when the form asked for that."""
    must_see(state, view, user)
    state.views.pop(view)
    state.note(Kind.VIEW, user, f"closes the form {view.body['title']['text']}")
    if not view.body.get("notify_on_close"):
        return
    payload = payloads.interaction("view_closed", state.credentials.verification, state.users[user])
    payload |= {"view": view.as_json(), "is_cleared": False}
    try:
        await state.interact(payload)
    except DeliveryError:
        state.note(Kind.FAILED, user, TROUBLE)


def show_view(state: State, view: View, what: str) -> None:
    """Leaves a line about a form or Home tab that was opened or changed."""
    rendered = Message("", "", view.user, "", view.body["blocks"])
    title = view.body.get("title", {"text": "Home"})["text"]
    state.note(Kind.VIEW, view.user, f"{what} {title}\n{text_of(state, rendered)}")


def _filled(view: View, values: Json, *, is_sent: bool = True) -> Json:
    """`state.values` for all inputs of a form; raises PersonError where Slack itself objects."""
    inputs = _inputs(view)
    unknown = set(values) - {name for block in inputs for name in _names(block)}
    if unknown:
        raise PersonError(f"the form has no field {', '.join(sorted(unknown))}")
    return {
        block["block_id"]: {
            block["element"]["action_id"]: _held(view, block, values, is_sent=is_sent)
        }
        for block in inputs
    }


def _inputs(view: View) -> list[Json]:
    return [block for block in view.body["blocks"] if block["type"] == "input"]


def _held(view: View, block: Json, values: Json, *, is_sent: bool) -> Json:
    """What one input holds: what is given now, else what it held before, else its initial value."""
    is_given = any(name in values for name in _names(block))
    before = view.values.get(block["block_id"])
    if not is_given and before is not None:
        held: Json = before[block["element"]["action_id"]]
        is_empty = all(value in (None, "", []) for name, value in held.items() if name != "type")
        if is_empty and is_sent:
            _refuse_empty(block)
        return held
    return _value(view, block, values, is_sent=is_sent)


def _refuse_empty(block: Json) -> None:
    if not block.get("optional"):
        raise PersonError(f"{block['label']['text']}: please complete this required field")


def _names(block: Json) -> tuple[str, str, str]:
    return block["block_id"], block["element"]["action_id"], block["label"]["text"]


def _value(view: View, block: Json, values: Json, *, is_sent: bool) -> Json:
    element = block["element"]
    given = [values[name] for name in _names(block) if name in values]
    value = given[0] if given else _initial(element)
    if value in (None, "", []) and is_sent:
        _refuse_empty(block)
    for complaint in _too_long_or_short(element, value):
        raise PersonError(f"{block['label']['text']}: {complaint}")
    known = [*view.offered.get(block["block_id"], []), *_first(element)]
    asked = {**element, "options": known} if "external" in element["type"] else element
    try:
        return payloads.state_value(asked, value)
    except KeyError:
        raise PersonError(f"{block['label']['text']}: no option {value}") from None


def _first(element: Json) -> list[Json]:
    """The options that an input holds at first."""
    one = element.get("initial_option")
    return [one] if one else list(element.get("initial_options", []))


def _initial(element: Json) -> Any:
    """What an input holds before anybody touches it."""
    for name, value in element.items():
        if name == "initial_option":
            return value["value"]
        if name == "initial_options":
            return [option["value"] for option in value]
        if name.startswith("initial_"):
            return value
    return None


def _too_long_or_short(element: Json, value: Any) -> Iterator[str]:
    if isinstance(value, str) and element["type"] == "plain_text_input":
        if len(value) > element.get("max_length", 3000):
            yield f"must be at most {element.get('max_length', 3000)} characters"
        if value and len(value) < element.get("min_length", 0):
            yield f"must be at least {element['min_length']} characters"


def _respond(state: State, view: View, body: Any) -> None:
    """Does what the answer to a sent form says; an empty one closes it."""
    try:
        _RESPONSES[(body or {}).get("response_action")](state, view, body)
    except (KeyError, SlackError) as error:
        state.note(Kind.FAILED, view.user, f"{TROUBLE} ({error})")


def _show_errors(state: State, view: View, body: Json) -> None:
    view.errors = dict(body["errors"])
    unknown = set(view.errors) - set(view.values)
    if unknown or not view.errors:
        raise SlackError("invalid_response_action")
    told = "; ".join(f"{block}: {text}" for block, text in view.errors.items())
    state.note(Kind.VIEW, view.user, f"the form says {told}")


def _close_one(state: State, view: View, _body: Json) -> None:
    view.errors = {}
    state.views.pop(view)
    state.changed()


def _close_all(state: State, view: View, _body: Json) -> None:
    view.errors = {}
    state.views.clear(view.user)
    state.changed()


def _update(state: State, view: View, body: Json) -> None:
    show_view(state, state.views.update(view, checked_view(body["view"])), "sees the form")


def _push(state: State, view: View, body: Json) -> None:
    show_view(state, state.views.push(view.user, checked_view(body["view"])), "sees the form")


_RESPONSES = {
    None: _close_one,
    "clear": _close_all,
    "errors": _show_errors,
    "update": _update,
    "push": _push,
}
