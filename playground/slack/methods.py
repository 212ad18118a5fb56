"""What a Web API method is: its tier, whom it lets in, and what it does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.people import BOT_USER, Channel, User
from playground.slack.rates import TIER_3, Limit
from playground.slack.shapes import Json
from playground.slack.state import State

Call = Callable[[State, Arguments], Json]

PREFIX = {"public_channel": "channels", "private_channel": "groups", "im": "im"}


@dataclass(frozen=True)
class Method:
    """One method; `effect` says whether it changes something people or the bot can see.

    `caller` is the kind of token it takes: bot, app, or None for any request. With a token for a
    whole organisation, a method `of_workspace` has to be told which workspace.
    """

    call: Call
    limit: Limit = TIER_3
    effect: bool = False
    scope: str | None = None
    caller: str | None = "bot"
    of_workspace: bool = False


def require(state: State, scope: str) -> None:
    """Raises SlackError missing_scope unless the app was granted the scope."""
    if scope not in state.scopes:
        raise SlackError("missing_scope", needed=scope, provided=",".join(sorted(state.scopes)))


def require_any(state: State, scopes: Iterable[str]) -> None:
    """Raises SlackError missing_scope unless one of the scopes was granted."""
    wanted = list(scopes)
    if not state.scopes.intersection(wanted):
        require(state, ",".join(wanted))


def conversation(state: State, args: Arguments, right: str = "read") -> Channel:
    """The channel asked for, as far as the bot may know of it, with the scope for its kind."""
    channel = state.channels.get(args.need("channel"))
    hidden = channel is None or (channel.is_private and BOT_USER not in channel.members)
    if channel is None or hidden:
        raise SlackError("channel_not_found")
    require(state, f"{PREFIX[channel.kind]}:{right}")
    return channel


def user(state: State, user_id: str) -> User:
    """A user by id."""
    if user_id not in state.users:
        raise SlackError("user_not_found")
    return state.users[user_id]


def page(items: list[Json], args: Arguments, default: int) -> tuple[list[Json], Json]:
    """One page of a list and the cursor metadata that leads to the next."""
    limit = args.integer("limit", default, 999)
    cursor = args.text("cursor") or "next:0"
    start = cursor.removeprefix("next:")
    if not cursor.startswith("next:") or not start.isdigit():
        raise SlackError("invalid_cursor")
    end = int(start) + limit
    following = f"next:{end}" if end < len(items) else ""
    return items[int(start) : end], {"next_cursor": following}
