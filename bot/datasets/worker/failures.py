"""The failures of the worker, with the reasons that the bot reads."""

from typing import Literal

from bot.errors import StorageError

Reason = Literal[
    "changed",
    "no_room",
    "bad_keys",
    "no_access",
    "not_found",
    "store_down",
    "corrupt",
    "wrong_input",
    "left_behind",
    "expired",
]

WORTH_REPEATING, NOT_WORTH_REPEATING = 75, 65
_KEYS_SHOWN = 10


class WorkError(StorageError):
    """The work failed.

    `reason` is a word for programs, `keys` are the first objects affected.
    """

    def __init__(
        self, reason: Reason, message: str, hint: str = "", keys: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, hint)
        self.reason: Reason = reason
        self.keys = keys[:_KEYS_SHOWN]

    @property
    def exit_code(self) -> int:
        """75 if a retry may succeed, 65 if not."""
        return WORTH_REPEATING if self.reason == "store_down" else NOT_WORTH_REPEATING


def wrong_input(message: str, hint: str = "") -> WorkError:
    """The error for a request that cannot be done."""
    return WorkError("wrong_input", message, hint)
