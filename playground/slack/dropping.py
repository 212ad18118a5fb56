"""Files that people drop into channels, and their content for whoever may read it."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from playground.slack.arguments import Arguments
from playground.slack.errors import PersonError, SlackError
from playground.slack.files import File
from playground.slack.people import BOT_USER, TEAM, Message
from playground.slack.posting import post
from playground.slack.shapes import Json
from playground.slack.state import State

FOLDER = "files-pri"
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")
_SIGN_IN = b"<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"
_OK, _PARTIAL, _NOT_FOUND, _UNSATISFIABLE = 200, 206, 404, 416
Content = tuple[int, dict[str, str], bytes]
"""Status, headers and body of a response."""


def drop(state: State, message: Message, files: Iterable[tuple[str, bytes]]) -> Message:
    """Posts a person's message with files, which Slack keeps."""
    person = state.users[message.user]
    if message.user not in state.channel(message.channel).members:
        where = state.name_of(message.channel)
        raise PersonError(f"{state.name_of(message.user)} is not in {where}")
    for name, content in files:
        if not content:
            raise PersonError(f"{name} is empty, which Slack does not take")
        file = File(f"F0{len(state.files) + 1:04}", name, len(content), content, is_complete=True)
        file.uploader, file.team, file.title = person.id, person.team_id, name
        shown = quote(name.lower(), safe="")
        file.url = f"{state.base_url}/{FOLDER}/{TEAM}-{file.id}/download/{shown}"
        state.files[file.id] = file
        message.files.append(file)
    return post(state, message)


def info(state: State, args: Arguments) -> Json:
    """files.info."""
    file = state.files.get(args.need("file"))
    if file is None or not _is_shared(state, file):
        raise SlackError("file_not_found")
    if file.is_deleted:
        raise SlackError("file_deleted")
    return {"file": file.as_json(), "comments": []}


def content(state: State, path: str, headers: Mapping[str, str]) -> Content:
    """A file's content; a page to sign in, with status 200, for a token that may not read it."""
    if not _may_read(state, headers.get("authorization", "")):
        return _OK, {"content-type": "text/html; charset=utf-8"}, _SIGN_IN
    found = state.files.get(path.partition("/")[0].partition("-")[2])
    if found is None or found.is_deleted or not _is_shared(state, found):
        return _NOT_FOUND, {"content-type": "text/plain"}, b""
    told = {"content-type": found.mimetype, "accept-ranges": "bytes"}
    wanted = _RANGE.fullmatch(headers.get("range", ""))
    if wanted is None or state.faults.ignores_ranges:
        return _OK, told, found.content
    first, last = int(wanted[1]), min(int(wanted[2]), found.length - 1)
    if first > last:
        return _UNSATISFIABLE, {"content-range": f"bytes */{found.length}"}, b""
    told["content-range"] = f"bytes {first}-{last}/{found.length}"
    return _PARTIAL, told, found.content[first : last + 1]


def _may_read(state: State, authorization: str) -> bool:
    is_ours = authorization == f"Bearer {state.credentials.bot_token}"
    return is_ours and "files:read" in state.scopes


def _is_shared(state: State, file: File) -> bool:
    """Whether the file stands in a channel that the bot is in."""
    places = (each for each in state.channels.values() if BOT_USER in each.members)
    messages = (each for place in places for each in place.messages if not each.deleted)
    return any(file in message.files for message in messages)
