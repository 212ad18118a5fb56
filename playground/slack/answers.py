"""What the bot answers to a person's act: directly, or through a response URL."""

from typing import Any

from playground.slack.errors import SlackError
from playground.slack.limits import MESSAGE_TEXT, checked_blocks, checked_text
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import Change, delete, edit, post
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.triggers import ResponseUrl

_FIELDS = {
    "response_type",
    "replace_original",
    "delete_original",
    "text",
    "blocks",
    "attachments",
    "thread_ts",
    "mrkdwn",
    "unfurl_links",
    "unfurl_media",
    "metadata",
}


def show(state: State, given: ResponseUrl, body: Any) -> list[Message]:
    """Does what an answer says: shows a message, or replaces or deletes the one acted on.

    Raises:
        SlackError: when the answer is not one Slack takes.
    """
    if not isinstance(body, dict) or set(body) - _FIELDS:
        raise SlackError("invalid_payload")
    if body.get("delete_original"):
        delete(state, _origin(state, given), BOT_USER)
        return []
    message = _message(state, given, body)
    if body.get("replace_original") and given.origin is not None:
        origin = _origin(state, given)
        edit(state, origin, Change(message.text, message.blocks))
        return [origin]
    return [post(state, message)]


def _origin(state: State, given: ResponseUrl) -> Message:
    """The message that was acted on, ephemeral or not, if it is still there."""
    origin = given.origin
    if origin is None or origin.deleted or origin not in state.channel(origin.channel).messages:
        raise SlackError("message_not_found")
    return origin


def _message(state: State, given: ResponseUrl, body: Json) -> Message:
    text, blocks = body.get("text") or "", body.get("blocks") or []
    if not text and not blocks:
        raise SlackError("no_text")
    in_channel = body.get("response_type") == "in_channel"
    return Message(
        given.channel,
        "",
        BOT_USER,
        checked_text(text, MESSAGE_TEXT),
        checked_blocks(blocks, unsupported=state.faults.unsupported_blocks),
        viewer=None if in_channel else given.user,
        thread_ts=body.get("thread_ts"),
    )
