"""auth, apps and files: who the bot is, its sockets, its uploads."""

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.methods import Method
from playground.slack.methods_chat import writable
from playground.slack.people import APP, BOT, BOT_USER, TEAM, Message
from playground.slack.posting import post
from playground.slack.rates import TIER_3, TIER_4, UNLIMITED
from playground.slack.shapes import Json
from playground.slack.state import File, State

ALT_TEXT = 1_000


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
    }


def connect(state: State, _args: Arguments) -> Json:
    """apps.connections.open: a WebSocket address that works once."""
    base = state.base_url.replace("http", "ws", 1)
    return {"url": f"{base}/link/?ticket={state.sockets.ticket()}&app_id={APP}"}


def upload_url(state: State, args: Arguments) -> Json:
    """files.getUploadURLExternal."""
    name, length = args.need("filename"), args.integer("length", 0, 1_000_000_000)
    alt = args.text("alt_txt") or ""
    if len(alt) > ALT_TEXT:
        raise SlackError("invalid_arguments")
    file_id = f"F0{len(state.files) + 1:04}"
    state.files[file_id] = File(file_id, name, length, alt=alt)
    return {"upload_url": f"{state.base_url}/upload/{file_id}", "file_id": file_id}


def complete_upload(state: State, args: Arguments) -> Json:
    """files.completeUploadExternal: unshared, or posted to a channel the bot is in."""
    given = args.json("files", "invalid_arguments")
    files = [_uploaded(state, each) for each in given or []]
    if not files:
        raise SlackError("invalid_arguments")
    if args.text("channel_id"):
        channel = writable(state, Arguments({"channel": args.need("channel_id")}))
        if BOT_USER not in channel.members:
            raise SlackError("not_in_channel")
        text = args.text("initial_comment") or ""
        thread, ids = args.text("thread_ts"), [file.id for file in files]
        post(state, Message(channel.id, "", BOT_USER, text, thread_ts=thread, files=ids))
    for file in files:
        file.is_complete = True
    return {"files": [{"id": file.id, "title": file.title or file.name} for file in files]}


def _uploaded(state: State, given: Json) -> File:
    file = state.files.get(given.get("id", ""))
    if file is None or len(file.content) != file.length:
        raise SlackError("file_not_found")
    file.title = given.get("title", "")
    return file


METHODS = {
    "api.test": Method(api_test, UNLIMITED, caller=None),
    "auth.test": Method(auth_test, UNLIMITED),
    "apps.connections.open": Method(connect, TIER_3, caller="app"),
    "files.getUploadURLExternal": Method(upload_url, TIER_4, effect=True, scope="files:write"),
    "files.completeUploadExternal": Method(
        complete_upload, TIER_4, effect=True, scope="files:write"
    ),
}
