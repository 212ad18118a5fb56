"""views.*: forms and Home tabs."""

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.forms import show_view
from playground.slack.limits import checked_view
from playground.slack.methods import Method, user
from playground.slack.rates import TIER_4
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.views import View


def open_view(state: State, args: Arguments) -> Json:
    """views.open."""
    body = _body(args, "modal")
    trigger = state.triggers.exchange(args.need("trigger_id"))
    return _shown(state, state.views.open(trigger.user, body), "opens the form")


def push(state: State, args: Arguments) -> Json:
    """views.push, with a trigger that came from an open form."""
    body = _body(args, "modal")
    trigger = state.triggers.exchange(args.need("trigger_id"))
    if trigger.view_id is None:
        raise SlackError("invalid_trigger_id")
    return _shown(state, state.views.push(trigger.user, body), "opens the form")


def update(state: State, args: Arguments) -> Json:
    """views.update, of an open form by view_id or external_id."""
    view = state.views.find(args.text("view_id"), args.text("external_id"))
    body = _body(args, view.body["type"])
    _same_hash(view, args)
    return _shown(state, state.views.update(view, body), "sees the form")


def publish(state: State, args: Arguments) -> Json:
    """views.publish."""
    who = user(state, args.need("user_id")).id
    if not state.app.has_home:
        raise SlackError("not_enabled")
    body = _body(args, "home")
    home = state.views.homes.get(who)
    if home is not None:
        _same_hash(home, args)
    return _shown(state, state.views.publish(who, body), "has a new tab")


def _body(args: Arguments, kind: str) -> Json:
    given = args.json("view", "invalid_arguments")
    if not isinstance(given, dict) or given.get("type") != kind:
        said = {"messages": [f"[ERROR] must be a {kind} view [json-pointer:/view/type]"]}
        raise SlackError("invalid_arguments", response_metadata=said)
    return checked_view(given)


def _same_hash(view: View, args: Arguments) -> None:
    given = args.text("hash")
    if given is not None and given != view.hash:
        raise SlackError("hash_conflict")


def _shown(state: State, view: View, what: str) -> Json:
    show_view(state, view, what)
    return {"view": view.as_json()}


METHODS = {
    "views.open": Method(open_view, TIER_4, effect=True),
    "views.push": Method(push, TIER_4, effect=True),
    "views.update": Method(update, TIER_4, effect=True),
    "views.publish": Method(publish, TIER_4, effect=True),
}
