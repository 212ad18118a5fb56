"""What to do with a file that could not be sent to its requester: pure decisions."""

from datetime import timedelta

from bot.errors import ChatError
from bot.slack import web_api
from bot.slack.documents import UNSURE
from bot.slack.messages import Message
from bot.slack.sending.delivery_rules import (
    MOST_ATTEMPTS,
    NO_WAY_IN,
    OUTAGE,
    Changes,
    DeliveryContext,
    FindPosted,
    Step,
    after_failure,
    after_vain_look,
    back_off,
    is_of_token,
)

SHARE_AGAIN = timedelta(minutes=2)
"""After this a file that is not found in history is shared again.

Slack shares what it has looked through, some time after it answered; and each file only once.
"""

# Slack refuses a file that it has shared already as it does one that it has forgotten.
_ONCE_MORE: Changes = {"posting_since": None, "is_reposted": True}
_AGAIN = "Then request it again."
_ANEW = {
    web_api.UPLOAD_FAILED: "Slack did not accept it in five attempts.",
    "file_not_found": "Slack lost it five times.",
    "file_update_failed": "Slack failed to process it five times.",
    "access_denied": "Slack did not recognise it as the bot's own file.",
}
_WHY = {
    **{code: f"{said} Request it again later." for code, said in _ANEW.items()},
    "missing_scope": (
        "The bot may not upload files: its Slack app lacks the scope `files:write`. Ask a platform"
        f" admin to save the app's manifest again and to reinstall the app. {_AGAIN}"
    ),
    "file_uploads_disabled": (
        "File uploads are disabled in this workspace. Ask a workspace admin to allow them."
        f" {_AGAIN}"
    ),
    "file_upload_size_restricted": (
        "It exceeds the file size limit of this workspace. Request less of it."
    ),
    "storage_limit_reached": (
        f"The workspace has no space left for files. Ask a workspace admin to free some. {_AGAIN}"
    ),
}


def passes(row: Message, error: ChatError) -> bool:
    """Whether the same step is retried once Slack can be called again."""
    return error.code in {web_api.RATE_LIMITED, *OUTAGE} or is_of_token(row, error)


def is_unreachable(row: Message, error: ChatError) -> bool:
    """Whether Slack refuses direct messages to this person, from everyone or from the bot."""
    if passes(row, error):
        return False
    opens = "conversations.open" in error.message
    return opens or error.code in {*NO_WAY_IN, "invalid_channel", "posting_to_channel_denied"}


def unreachable(error: ChatError) -> str:
    """Why a person got no direct message, and what to do about it."""
    why = f"Slack does not let me send you direct messages ({error.code})."
    if error.code == "missing_scope":
        return f"{why} Ask a platform admin to add the scope `im:write` to the Slack app. {_AGAIN}"
    return f"{why} {_AGAIN}" if error.code == "messages_tab_disabled" else why


def after_failed_file(
    row: Message, step: Step, error: ChatError, world: DeliveryContext
) -> tuple[Changes, Changes]:
    """What a failure changes in the message and in its file, which may be uploaded a few times.

    Of a file that cannot be sent, only the reason is kept.
    """
    if passes(row, error):
        return after_failure(row, step, error, world), {}
    if isinstance(step, FindPosted):
        return dict(_ONCE_MORE), {}
    anew: Changes = {"posting_since": None}
    if error.code in _ANEW and row.is_reposted:
        return anew | {"attempts": 0, "not_before": None}, _given_up(UNSURE)
    if error.code in _ANEW and row.attempts + 1 < MOST_ATTEMPTS:
        return anew | back_off(row, error, world), {"file_id": None}
    return anew | {"attempts": 0, "not_before": None}, refused(error)


def refused(error: ChatError) -> Changes:
    """The changes of a file that can never be sent."""
    return _given_up(_WHY.get(error.code, f"{error.message} {error.hint}".strip()))


def after_vain_look_for_file(row: Message, world: DeliveryContext) -> Changes:
    """The changes after a file was not found: in the end it is shared once more."""
    changes = after_vain_look(row, world, SHARE_AGAIN)
    return changes if "not_before" in changes else dict(_ONCE_MORE)


def after_untold(error: ChatError) -> Changes:
    """The changes after a person was notified in the channel, if possible, instead of directly."""
    said = f"A file could not be delivered: {error.message}"
    return {"is_dead": True, "posting_since": None, "trouble": said}


def _given_up(why: str) -> Changes:
    return {"refused": why, "file_id": None, "content": b""}
