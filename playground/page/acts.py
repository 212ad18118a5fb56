"""What people do on the page, as the same acts by which scenarios do it."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from playground.control.web import CONFLICT, NOT_FOUND, Request, Response, WebError
from playground.slack.errors import PersonError, SlackError
from playground.slack.people import BOT_USER, Message
from playground.slack.shapes import Json
from playground.slack.views import View
from playground.slack.workspace import Workspace
from playground.spelling import closest

Act = Callable[[Workspace, str, Json], Awaitable[Json]]


async def act(slack: Workspace, request: Request) -> Response:
    """Does what a person asks for; WebError says why it cannot be done."""
    verb = request.path.rpartition("/")[2]
    if verb not in _ACTS:
        raise WebError(f"people cannot {verb}{closest(verb, _ACTS)}", NOT_FOUND)
    user = text(request.body, "as")
    if user not in slack.users or slack.users[user].is_bot:
        raise WebError(f"there is no person {user}", NOT_FOUND)
    if slack.faults.down is not None:
        raise WebError("Slack is down. Bring it back in the panel Outside.", CONFLICT)
    try:
        return Response(await _ACTS[verb](slack, user, request.body))
    except (PersonError, SlackError) as error:
        raise WebError(f"{error}", CONFLICT) from None


def text(body: Json, key: str) -> str:
    """A text that a request must have."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise WebError(f'"{key}" is missing; it must be a text')
    return value


async def _write(slack: Workspace, user: str, body: Json) -> Json:
    words, channel, thread = text(body, "text").strip(), text(body, "channel"), body.get("thread")
    if not words.startswith("/"):
        message = await slack.write(user, channel, words, thread)
        return {"ts": message.ts}
    command = words.partition(" ")[0]
    if thread:
        raise PersonError(f"{command} is not supported in threads. Sorry!")
    await slack.slash(user, channel, words)
    return {}


async def _drop(slack: Workspace, user: str, body: Json) -> Json:
    """Drops files, whose contents are in base64, into a channel or thread."""
    given = body.get("files")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise WebError('"files" must be a list of {"name", "content"}')
    try:
        files = [(text(e, "name"), b64decode(text(e, "content"), validate=True)) for e in given]
    except ValueError:
        raise WebError('"content" must be in base64') from None
    channel, thread = text(body, "channel"), body.get("thread")
    message = await slack.drop(user, channel, files, str(body.get("text", "")), thread)
    return {"ts": message.ts}


async def _click(slack: Workspace, user: str, body: Json) -> Json:
    where, option = _where(slack, body), body.get("option")
    await slack.click(
        user,
        where,
        text(body, "action"),
        confirm=body.get("confirm") is True,
        option=option if isinstance(option, str) else None,
        block=text(body, "block"),
    )
    return {}


async def _submit(slack: Workspace, user: str, body: Json) -> Json:
    values = _values(body)
    return {"errors": await slack.submit_view(user, _view(slack, body), values)}


def _values(body: Json) -> Json:
    values = body.get("values")
    if not isinstance(values, dict):
        raise WebError('"values" must be an object of fields by their block_id')
    return values


async def _change(slack: Workspace, user: str, body: Json) -> Json:
    """Changes a field of a form that is told to the bot at once."""
    value: Any = body.get("value")
    values = _values(body)
    await slack.change_field(user, _view(slack, body), text(body, "block"), value, values)
    return {}


async def _search(slack: Workspace, user: str, body: Json) -> Json:
    """What the bot offers for what was typed into a field of a form."""
    typed, view = str(body.get("text", "")), _view(slack, body)
    return {"options": await slack.search_options(user, view, text(body, "block"), typed)}


async def _close(slack: Workspace, user: str, body: Json) -> Json:
    await slack.close_view(user, _view(slack, body))
    return {}


async def _shortcut(slack: Workspace, user: str, body: Json) -> Json:
    """Uses a shortcut of the app: of a message, or of the menu beside the text box."""
    where = _where(slack, body) if "message" in body else None
    if isinstance(where, View):
        raise WebError("a form has no shortcuts")
    await slack.shortcut(user, text(body, "name"), where)
    return {}


async def _home(slack: Workspace, user: str, body: Json) -> Json:
    """Opens the Home tab or, with `"tab": "messages"`, the other tab of the app."""
    await slack.open_home(user, tab="messages" if body.get("tab") == "messages" else "home")
    return {}


async def _choose(slack: Workspace, user: str, body: Json) -> Json:
    """Chooses a prompt that the agent view suggests; returns the message that it sends."""
    message = await slack.choose(user, text(body, "title"))
    return {"channel": message.channel, "ts": message.ts}


async def _workflow(slack: Workspace, user: str, body: Json) -> Json:
    """Runs a workflow of one step of the app, with inputs for it."""
    inputs = body.get("inputs")
    if not isinstance(inputs, dict):
        raise WebError('"inputs" must be an object of values by the name of the input')
    if not slack.has_app(user):
        raise PersonError(f"{slack.name_of(user)} cannot use the app's steps")
    execution = await slack.run_step(text(body, "step"), inputs)
    return {"id": execution.id}


async def _invite(slack: Workspace, user: str, body: Json) -> Json:
    """`/invite @app`, the one command of Slack itself that the page needs."""
    channel = slack.channel(text(body, "channel"))
    if user not in channel.members:
        raise PersonError(f"{slack.name_of(user)} is not in {channel.name}")
    if BOT_USER in channel.members:
        raise PersonError(f"{slack.name_of(BOT_USER)} is in {channel.name} already")
    slack.invite_bot(channel.id)
    return {}


_ACTS: Mapping[str, Act] = {
    "write": _write,
    "drop": _drop,
    "click": _click,
    "submit": _submit,
    "change": _change,
    "search": _search,
    "close": _close,
    "shortcut": _shortcut,
    "home": _home,
    "choose": _choose,
    "workflow": _workflow,
    "invite": _invite,
}


def _where(slack: Workspace, body: Json) -> Message | View:
    if "view" in body:
        return _view(slack, body)
    channel, ts = slack.channel(text(body, "channel")), text(body, "message")
    found: Any = next((each for each in channel.messages if each.ts == ts), None)
    if found is None:
        raise PersonError("this message is no longer there")
    message: Message = found
    return message


def _view(slack: Workspace, body: Json) -> View:
    view = slack.views.all.get(text(body, "view"))
    if view is None or not view.is_open:
        raise PersonError("this form is no longer open")
    return view
