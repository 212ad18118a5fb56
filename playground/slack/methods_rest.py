"""auth and apps: who the bot is, and its sockets."""

from playground.slack import organisation
from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.methods import Method
from playground.slack.people import APP, BOT, BOT_USER, TEAM
from playground.slack.rates import TIER_3, UNLIMITED
from playground.slack.shapes import Json
from playground.slack.state import State


def api_test(_state: State, args: Arguments) -> Json:
    """api.test: what was sent comes back."""
    if error := args.text("error"):
        raise SlackError(error, args=args.values)
    return {"args": args.values}


def auth_test(state: State, _args: Arguments) -> Json:
    """auth.test."""
    return {
        "url": "https://acme.slack.example/",
        "team": "Acme",
        "user": state.users[BOT_USER].name,
        "team_id": TEAM,
        "user_id": BOT_USER,
        "bot_id": BOT,
        "is_enterprise_install": False,
        **({"enterprise_id": state.organisation} if state.organisation else {}),
        **(organisation.identity() if state.is_org_wide else {}),
    }


def connect(state: State, _args: Arguments) -> Json:
    """apps.connections.open: a WebSocket address that works once."""
    base = state.base_url.replace("http", "ws", 1)
    return {"url": f"{base}/link/?ticket={state.sockets.ticket()}&app_id={APP}"}


METHODS = {
    "api.test": Method(api_test, UNLIMITED, caller=None),
    "auth.test": Method(auth_test, UNLIMITED),
    "apps.connections.open": Method(connect, TIER_3, caller="app"),
}
