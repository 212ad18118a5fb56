"""What can be made to go wrong in the workspace as a whole, switched on and off by hand."""

from dataclasses import dataclass, field
from enum import StrEnum


class Down(StrEnum):
    """How Slack is away."""

    REFUSED = "refused"  # connections break off at once
    UNAVAILABLE = "unavailable"  # every request is answered 503


@dataclass(frozen=True)
class Broken:
    """One call that Slack itself fails at: in these words, and perhaps after it was `done`.

    Slack says of `internal_error` and `fatal_error` that some of a call may have succeeded.
    """

    code: str = "internal_error"
    status: int = 500
    done: bool = False


@dataclass
class Faults:
    """The switches; single requests are lost or killed through the ledger instead."""

    down: Down | None = None
    limited: dict[str, int] = field(default_factory=dict)  # method -> seconds of Retry-After
    broken: dict[str, list[Broken]] = field(default_factory=dict)  # method -> its next calls
    slow_seconds: dict[str, float] = field(default_factory=dict)  # method -> wait before an answer
    doubled: bool = False  # each payload reaches the bot twice
    # Slack's pages say that it does not; people have seen both events for one message.
    mentions_in_direct_messages: bool = False
    looks_at_files: int = 0  # so many times a new file is refused, as one that is still looked at
    hides_files: bool = False  # history shows messages without their files
    ignores_ranges: bool = False  # each download brings the whole file
    largest_file: int | None = None  # bytes, where the workspace restricts that
    unsupported_blocks: set[str] = field(default_factory=set)  # refused as not rolled out here
