"""The Web API: authentication, rate limits, dispatch, and Slack's own errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from playground.slack import (
    methods_agent,
    methods_chat,
    methods_files,
    methods_reading,
    methods_rest,
    methods_steps,
    methods_views,
)
from playground.slack.arguments import Arguments
from playground.slack.errors import RateLimitedError, SlackError
from playground.slack.faults import Broken
from playground.slack.methods import Method, require
from playground.slack.organisation import require_workspace
from playground.slack.rates import POSTING
from playground.slack.shapes import Json
from playground.slack.state import State

METHODS: Mapping[str, Method] = {
    **methods_rest.METHODS,
    **methods_chat.METHODS,
    **methods_files.METHODS,
    **methods_reading.METHODS,
    **methods_views.METHODS,
    **methods_agent.METHODS,
    **methods_steps.METHODS,
}


@dataclass(frozen=True)
class Answer:
    """An HTTP answer with a JSON body, or the content of a file."""

    body: Json | bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def about(args: Arguments) -> str:
    """A few words on what a call is about, for the ledger."""
    names = ("channel", "channel_id", "ts", "thread_ts", "user", "user_id", "text")
    files = ("filename", "file")
    told = [str(args.values[name]) for name in (*names, *files) if args.values.get(name)]
    return " ".join(told)[:120]


def has_effect(name: str) -> bool:
    """Whether a call of this method changes anything."""
    return name in METHODS and METHODS[name].effect


def answer(state: State, name: str, args: Arguments, authorization: str) -> Answer:
    """Carries out one call and says what Slack says."""
    scopes = {"x-oauth-scopes": ",".join(sorted(state.scopes))}
    broken = _taken(state, name)
    try:
        result = {} if broken and not broken.done else _call(state, name, args, authorization)
    except RateLimitedError as error:
        state.refusals.append((name, error.code))
        told = {"retry-after": str(error.retry_after)}
        return Answer({"ok": False, "error": error.code}, 429, {**scopes, **told})
    except SlackError as error:
        state.refusals.append((name, error.code))
        return Answer({"ok": False, "error": error.code, **error.fields}, headers=scopes)
    if broken:
        return Answer({"ok": False, "error": broken.code}, broken.status)
    return Answer({"ok": True, **result}, headers=scopes)


def _taken(state: State, name: str) -> Broken | None:
    """How Slack fails at this call, if it does; the next one is another matter."""
    waiting = state.faults.broken.get(name)
    return waiting.pop(0) if waiting else None


def _call(state: State, name: str, args: Arguments, authorization: str) -> Json:
    method = METHODS.get(name)
    if method is None:
        raise SlackError("unknown_method", req_method=name)
    _authenticate(state, method, authorization or f"Bearer {args.values.pop('token', '')}")
    if method.scope is not None:
        require(state, method.scope)
    if method.of_workspace and state.is_org_wide:
        require_workspace(args)
    _limit(state, name, method, args)
    return method.call(state, args)


def _authenticate(state: State, method: Method, authorization: str) -> None:
    if method.caller is None:
        return
    token = authorization.removeprefix("Bearer ").strip()
    known = {"bot": state.credentials.bot_token, "app": state.credentials.app_token}
    if not token:
        raise SlackError("not_authed")
    if token not in known.values():
        raise SlackError("invalid_auth")
    if token != known[method.caller]:
        raise SlackError("not_allowed_token_type")


def _limit(state: State, name: str, method: Method, args: Arguments) -> None:
    storm = state.faults.limited.get(name)
    wait = storm or state.rates.take(name, method.limit)
    if not wait and name == "chat.postMessage":
        wait = state.rates.take((name, args.text("channel")), POSTING)
    if wait:
        raise RateLimitedError(wait)
