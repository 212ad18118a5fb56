"""What to do next with a message, also after a failure: pure decisions."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from bot.errors import ChatError
from bot.slack import web_api
from bot.slack.chart_blocks import Plainness
from bot.slack.client import Destination, MessageRef
from bot.slack.messages import Message
from bot.slack.sending.budgets import HISTORY, POST, REPLIES, UPDATE, Call


class Fallback(IntEnum):
    """Where a message is posted: its own channel, else the admins' channel, else its owner's DMs.

    A direct message that cannot be sent is posted to the thread of its card instead.
    """

    NONE = 0
    ADMINS = 1
    OWNER = 2
    THREAD = 3


LOOK_FIRST = timedelta(seconds=3)
"""After this a post whose answer is missing is looked for; found, it is adopted."""

POST_AGAIN = timedelta(seconds=30)
"""After this a post that is not found is taken to have never arrived."""

_CLOCKS_DIFFER = timedelta(minutes=5)
_LONGEST_BACK_OFF_SECONDS = 60.0
_TOKEN_SECONDS = 60.0
MOST_ATTEMPTS = 5

OUTAGE = {
    web_api.UNREACHABLE,
    web_api.NO_ANSWER,
    web_api.SERVER_ERROR,
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
}
TOKEN = {
    "invalid_auth",
    "not_authed",
    "token_revoked",
    "token_expired",
    "account_inactive",
    "missing_scope",
    "accesslimited",
}
BAD_BLOCKS = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
SHARED_OUTSIDE = "shared_outside"
"""Our own code for a channel that another company is in, and that the settings do not allow."""

NO_WAY_IN = {
    SHARED_OUTSIDE,
    "is_archived",
    "is_inactive",
    "not_in_channel",
    "channel_not_found",
    "restricted_action",
    "restricted_action_read_only_channel",
    "user_not_found",
    "user_disabled",
    "cannot_dm_bot",
    "messages_tab_disabled",
}
_NO_THREAD = {"thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"}
_FILE = "slack file"  # what Slack's words are of when a file is not ready, or not to be seen
_GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}

Changes = dict[str, Any]


@dataclass(frozen=True)
class Post:
    """Post it; a place that names a person means their direct messages."""

    place: Destination


@dataclass(frozen=True)
class Update:
    """Update the message at that position to the current state."""

    spot: MessageRef


@dataclass(frozen=True)
class FindPosted:
    """Look for a post whose answer was lost."""

    place: Destination
    since: datetime


Step = Post | Update | FindPosted


@dataclass(frozen=True)
class DeliveryContext:
    """What a decision depends on besides the row; `jitter` is between 0 and 1."""

    real_now: datetime
    admin_channel: str | None = None
    jitter: float = 1.0


def decide(row: Message, parent: Message | None, world: DeliveryContext) -> Step | None:
    """The next step for a message that wants to be shown, None when it has to wait."""
    if row.ts is not None and row.place is not None:
        return Update(MessageRef(row.place, row.ts))
    place = _place(row, parent, world.admin_channel)
    if place is None:
        return None
    if row.posting_since is None:
        return Post(place)
    if world.real_now - row.posting_since < LOOK_FIRST:
        return None
    return FindPosted(
        replace(place, channel=row.place or place.channel), row.posting_since - _CLOCKS_DIFFER
    )


def call_of(row: Message, step: Step) -> Call:
    """The call to Slack that a step makes."""
    match step:
        case Post(place):
            return Call(POST, place.channel)
        case Update(spot):
            return Call(UPDATE, spot.channel, is_urgent=not row.live)
        case FindPosted(place):
            return Call(REPLIES if place.thread_ts else HISTORY, place.channel)


def after_failure(row: Message, step: Step, error: ChatError, world: DeliveryContext) -> Changes:
    """What a failed step changes in the row."""
    not_sent: Changes = {} if isinstance(step, FindPosted) else {"posting_since": None}
    if error.code == web_api.RATE_LIMITED:
        return not_sent | {"not_before": _in(error.retry_after_seconds, world)}
    if error.code in OUTAGE:
        unsure = {} if error.code != web_api.UNREACHABLE else not_sent
        return unsure | back_off(row, error, world)
    if isinstance(step, FindPosted) and (error.code not in TOKEN or error.code == "missing_scope"):
        return {"posting_since": None}
    if is_of_token(row, error):
        return not_sent | {"not_before": _in(_TOKEN_SECONDS, world), "trouble": error.message}
    return not_sent | _refused(row, step, error, world)


def is_of_token(row: Message, error: ChatError) -> bool:
    """Whether the token can send nothing; without `im:write` it can still post to channels."""
    is_of_people = error.code == "missing_scope" and row.is_direct and not row.detour
    return error.code in TOKEN and not is_of_people


def after_failed_upload(row: Message, error: ChatError, world: DeliveryContext) -> Changes:
    """The changes after a picture could not be uploaded: after a few attempts, text is used.

    While Slack itself is away the message waits, like any other.
    """
    if error.code == web_api.RATE_LIMITED:
        return {"not_before": _in(error.retry_after_seconds, world)}
    if error.code in OUTAGE:
        return back_off(row, error, world)
    if error.code == web_api.UPLOAD_FAILED and row.attempts + 1 < MOST_ATTEMPTS:
        return back_off(row, error, world)
    return _in_words(row)


def after_vain_look(
    row: Message, world: DeliveryContext, patience: timedelta = POST_AGAIN
) -> Changes:
    """The changes after a post was not found: it is looked for again, then posted again."""
    if row.posting_since is not None and world.real_now - row.posting_since < patience:
        return {"not_before": world.real_now + LOOK_FIRST}
    return {"posting_since": None}


def _refused(row: Message, step: Step, error: ChatError, world: DeliveryContext) -> Changes:
    if error.code in BAD_BLOCKS and row.plainness < Plainness.WORDS:
        return _plainer(row, error, world)
    if row.is_direct and row.parent_id is not None and not row.detour:
        return _into_thread(error)
    if error.code in NO_WAY_IN:
        return _detour(row, error, world)
    if error.code in _NO_THREAD and row.parent_id is not None:
        return {"parent_id": None}
    if error.code in _GONE and isinstance(step, Update) and not row.is_reposted:
        return {"ts": None, "place": None, "digest": None, "is_reposted": True}
    if error.code in _GONE or row.attempts + 1 >= MOST_ATTEMPTS:
        return {"is_dead": True, "trouble": f"The message could not be shown. {error.message}"}
    return back_off(row, error, world)


def _plainer(row: Message, error: ChatError, world: DeliveryContext) -> Changes:
    """The next plainer way to show it; a picture that Slack still looks at is waited for."""
    if _FILE in error.detail:
        waits = row.attempts + 1 < MOST_ATTEMPTS
        return back_off(row, error, world) if waits else _in_words(row)
    return {"plainness": Plainness(row.plainness + 1), "attempts": 0}


def _in_words(row: Message) -> Changes:
    trouble = row.trouble if row.detour else None
    return {"plainness": Plainness.WORDS, "attempts": 0, "not_before": None, "trouble": trouble}


def back_off(row: Message, error: ChatError, world: DeliveryContext) -> Changes:
    """Retries later, with a longer delay each time."""
    longest = min(_LONGEST_BACK_OFF_SECONDS, 2.0 ** min(row.attempts, 10))
    seconds = longest * (1 + world.jitter) / 2
    trouble = row.trouble if row.detour else error.message
    return {
        "attempts": row.attempts + 1,
        "not_before": _in(seconds, world),
        "trouble": trouble,
    }


def _detour(row: Message, error: ChatError, world: DeliveryContext) -> Changes:
    """The next place for a message whose place cannot be reached; dead when there is none."""
    tried = row.place or row.channel
    if row.is_direct:
        said = f"<@{row.channel}> could not be sent a direct message ({error.code})."
        return {"is_dead": True, "trouble": said}
    if row.detour == Fallback.NONE and world.admin_channel not in (None, tried):
        detour = Fallback.ADMINS
    elif row.detour < Fallback.OWNER and row.owner is not None:
        detour = Fallback.OWNER
    else:
        reason = row.trouble if row.detour and row.trouble else _reason(row, error)
        return {"is_dead": True, "trouble": f"{reason} There was no one else to notify."}
    trouble = row.trouble if row.detour else _reason(row, error)
    return {"detour": detour, "trouble": trouble, "ts": None, "place": None, "digest": None}


def _into_thread(error: ChatError) -> Changes:
    """Posts a direct message that cannot be sent to the thread of its card."""
    said = f"Slack does not let me send you direct messages ({error.code}), so this is posted here:"
    return {"detour": Fallback.THREAD, "trouble": said, "ts": None, "place": None, "digest": None}


def _reason(row: Message, error: ChatError) -> str:
    said = f"<#{row.channel}> could not be reached ({error.code})."
    if error.code == SHARED_OUTSIDE:
        said = f"<#{row.channel}> is shared with another company, which would see this."
    return f"{said} {error.hint}".rstrip()


def _place(row: Message, parent: Message | None, admin_channel: str | None) -> Destination | None:
    """Where a message is to be posted, None while its parent has yet to be."""
    is_at_home = row.detour in {Fallback.NONE, Fallback.THREAD}
    if is_at_home and parent is not None and not parent.is_dead:
        if parent.ts is None or parent.place is None:
            return None
        if not (row.is_direct and row.detour == Fallback.NONE):
            return Destination(parent.place, parent.ts, row.broadcast)
    if is_at_home:
        return Destination(row.channel)
    there = admin_channel if row.detour == Fallback.ADMINS else None
    return Destination(there or row.owner or row.channel)


def _in(seconds: float, world: DeliveryContext) -> datetime:
    return world.real_now + timedelta(seconds=seconds)
