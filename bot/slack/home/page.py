"""What a person's Home tab says, independent of Slack's blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.card import Button
from bot.slack.markup import Markup

NOTHING = Markup("")
REFRESH = "qm.refresh"
"""The button that has the page published again."""


@dataclass(frozen=True)
class FormButton:
    """A button that opens the form of a command: `words` are those after its name."""

    label: str
    command: str
    words: str
    is_primary: bool = False


@dataclass(frozen=True)
class HomeItem:
    """One thing in a section: a run, a request, a cache; with its buttons."""

    lines: tuple[Markup, ...]
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True)
class HomeSection:
    """A part of the page under a title: lines, buttons of its own, and things.

    `rest` says how to see those things for which there is no room.
    """

    title: str
    lines: tuple[Markup, ...] = ()
    items: tuple[HomeItem, ...] = ()
    buttons: Sequence[Button | FormButton] = ()
    rest: Markup = NOTHING


@dataclass(frozen=True)
class HomePage:
    """The whole tab, the most important section first."""

    sections: tuple[HomeSection, ...]
