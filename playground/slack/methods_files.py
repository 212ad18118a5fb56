"""files.*: uploads in three steps, as Slack takes them since files.upload is gone."""

import secrets
from typing import Any

from playground.slack import dropping
from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.files import File
from playground.slack.limits import MESSAGE_TEXT, checked_text
from playground.slack.methods import Method
from playground.slack.people import BOT_USER, Channel, Message
from playground.slack.posting import post
from playground.slack.rates import TIER_4
from playground.slack.shapes import Json
from playground.slack.state import State

ALT_TEXT = 1_000
LARGEST = 1_000_000_000


def upload_url(state: State, args: Arguments) -> Json:
    """files.getUploadURLExternal: an address that takes a file's bytes once."""
    name, length = args.text("filename"), args.text("length") or "0"
    if name is None or length == "0":
        raise SlackError("missing_argument")
    if not length.isdigit():
        raise SlackError("invalid_arguments")
    if int(length) > min(state.faults.largest_file or LARGEST, LARGEST):
        raise SlackError("file_upload_size_restricted")
    alt = args.text("alt_txt") or ""
    if len(alt) > ALT_TEXT:
        raise SlackError("alt_txt_too_large")
    file_id, ticket = f"F0{len(state.files) + 1:04}", secrets.token_hex(16)
    state.files[file_id] = File(file_id, name, int(length), alt=alt, ticket=ticket)
    return {"upload_url": f"{state.base_url}/upload/v1/{ticket}", "file_id": file_id}


def take(state: State, path: str, content: bytes) -> bool:
    """Takes a file's bytes at the address given for them, once and of the length told."""
    ticket = path.removeprefix("v1/")
    file = next((each for each in state.files.values() if ticket and each.ticket == ticket), None)
    if file is None or len(content) != file.length:
        return False
    file.content, file.ticket = content, ""
    return True


def complete_upload(state: State, args: Arguments) -> Json:
    """files.completeUploadExternal: once for a file; unshared, or in a channel the bot is in."""
    given = args.json("files", "invalid_arguments")
    if not isinstance(given, list) or not given:
        raise SlackError("invalid_arguments")
    files = [_uploaded(state, each) for each in given]
    channel = _shared_to(state, args)
    for file, each in zip(files, given, strict=True):
        file.title, file.is_complete = each.get("title") or file.name, True
    if channel is not None:
        text = checked_text(args.text("initial_comment") or "", MESSAGE_TEXT)
        thread = args.text("thread_ts")
        post(state, Message(channel.id, "", BOT_USER, text, thread_ts=thread, files=files))
    return {"files": [{"id": file.id, "title": file.title} for file in files]}


def _uploaded(state: State, given: Any) -> File:
    """A file whose bytes are there and that was not completed yet; Slack has its ticket no more."""
    if not isinstance(given, dict) or not isinstance(given.get("id"), str):
        raise SlackError("invalid_arguments")
    file = state.files.get(given["id"])
    if file is None or file.is_complete or len(file.content) != file.length:
        raise SlackError("file_not_found")
    return file


def _shared_to(state: State, args: Arguments) -> Channel | None:
    """The channel that it is to be shared to; people's ids are none."""
    wanted = args.text("channel_id")
    if wanted is None:
        return None
    if wanted[:1] not in {"C", "G", "D", "Z"}:
        said = "[ERROR] must match pattern: ^[CGDZ][A-Z0-9]{1,}$ [json-pointer:/channel_id]"
        raise SlackError("invalid_arguments", response_metadata={"messages": [said]})
    channel = state.channels.get(wanted)
    if channel is None or (channel.is_private and BOT_USER not in channel.members):
        raise SlackError("channel_not_found")
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    if channel.is_archived or channel.is_read_only:
        raise SlackError("posting_to_channel_denied")
    return channel


METHODS = {
    "files.info": Method(dropping.info, TIER_4, scope="files:read"),
    "files.getUploadURLExternal": Method(upload_url, TIER_4, effect=True, scope="files:write"),
    "files.completeUploadExternal": Method(
        complete_upload, TIER_4, effect=True, scope="files:write"
    ),
}
