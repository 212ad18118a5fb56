"""A form, independent of Slack's blocks: its fields, and the command that they fill in."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from bot.errors import UserError
from bot.slack.markup import Markup

MORE = "more-options"
"""The field for options that have none of their own, written as in a command."""

LONGEST_TEXT = 3_000
LONGEST_OPTION = 150
MOST_OPTIONS = 100
"""Slack's limits for what a field holds: characters of text and of an option, and options."""


class FieldKind(StrEnum):
    """How a field is filled in: a line, several lines, one or more of the options, or a tick.

    One or more can also be searched for: the options are asked for while the person types.
    """

    LINE = "line"
    LINES = "lines"
    CHOICE = "choice"
    CHOICES = "choices"
    SEARCH = "search"
    SEARCHES = "searches"
    TICK = "tick"


@dataclass(frozen=True)
class Option:
    """Something to choose: the value, and the text that people see (default: the value)."""

    value: str
    text: str = ""

    @property
    def shown(self) -> str:
        """What people see."""
        return self.text or self.value


@dataclass(frozen=True)
class Field:
    """One field; `name` is the parameter's, `initial` what it holds, a line for each value.

    The form is made again each time that a `watched` field changes.
    """

    name: str
    label: str
    kind: FieldKind
    hint: str = ""
    example: str = ""
    options: tuple[str, ...] = ()
    initial: str = ""
    is_optional: bool = True
    is_watched: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the form can show all of `initial`: Slack takes no longer text or option."""
        match self.kind:
            case FieldKind.LINE | FieldKind.LINES:
                return len(self.initial) <= LONGEST_TEXT
            case FieldKind.SEARCH | FieldKind.SEARCHES:
                values = self.initial.splitlines()
                return len(values) <= MOST_OPTIONS and all(
                    len(each) <= LONGEST_OPTION for each in values
                )
            case _:
                return True


class FormPlace(msgspec.Struct, frozen=True):
    """Which command a form is for, and where it was opened; it comes back with the fields.

    People can change what comes back, so all of it is checked again.
    """

    command: str
    verb: str
    channel: str
    thread_ts: str | None = None


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_PLACE = msgspec.json.Decoder(FormPlace)


def place_of(text: str) -> FormPlace | None:
    """The place in a form's metadata; None if it is not one of ours."""
    try:
        return _PLACE.decode(text)
    except msgspec.MsgspecError:
        return None


@dataclass(frozen=True)
class Form:
    """A form as it is opened: `lines` stand above its fields, `foreseen` below them."""

    title: str
    submit: str
    place: FormPlace
    fields: Sequence[Field]
    lines: Sequence[Markup] = ()
    foreseen: Sequence[Markup] = ()


class FieldsError(UserError):
    """Fields that do not fit: a sentence for each, by the name of the field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors
