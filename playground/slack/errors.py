"""How the workspace refuses: to the bot in Slack's words, to people in plain ones."""

from typing import Any


class SlackError(Exception):
    """An `ok: false` answer: Slack's error code, and fields beside it."""

    def __init__(self, code: str, **fields: Any) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


class RateLimitedError(SlackError):
    """A 429 with the seconds to wait."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("ratelimited")
        self.retry_after = retry_after


class PersonError(Exception):
    """What a person tried is not possible for them: not visible, not there, not confirmed."""


class DeliveryError(Exception):
    """The bot did not answer a payload; the word is the one Slack shows or sends on."""
