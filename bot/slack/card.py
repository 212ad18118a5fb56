"""The content of cards and answers, independent of Slack's blocks.

Areas build these values from their rows; `bot.slack.blocks` turns them into blocks and sees to
Slack's limits, so nothing here needs to count characters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from bot.charts.values import Chart
from bot.slack.forms.form import Form, Option
from bot.slack.markup import Markup


class Tone(StrEnum):
    """The state of a card's subject, shown as a mark before the title."""

    WAITING = "waiting"
    WORKING = "working"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    STOPPED = "stopped"
    QUIET = "quiet"


@dataclass(frozen=True)
class Confirm:
    """A question Slack asks before a click counts."""

    title: str
    text: str
    yes: str
    no: str = "Cancel"


@dataclass(frozen=True)
class Button:
    """A button; `action` names the declared button (`train.stop`), `value` its subject.

    With `url` Slack opens that address, and reports the click, too.
    """

    action: str
    label: str
    value: str
    style: Literal["primary", "danger"] | None = None
    confirm: Confirm | None = None
    url: str = ""


@dataclass(frozen=True)
class Progress:
    """The progress of something; `total` is None if unknown."""

    done: float
    total: float | None
    unit: str


@dataclass(frozen=True)
class Table:
    """Rows under a header; cells are plain text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class AsFile:
    """The file for an answer's document or code if it is too long for a message.

    `less` says how to ask for less, for what is too large even for a file.
    """

    name: str
    less: str = ""


@dataclass(frozen=True)
class Card:
    """One message about one subject; also the shape of a longer answer.

    `title` and `state` are plain text, `facts` are label and value, `code` is shown as it is
    in fixed width; of code that is too long the end is kept, as with logs. A `document` is shown
    in fixed width too, but whole, in as many blocks as it takes. Of an answer that says `as_file`
    both are brought whole, as a file where they are too long for a message; without that a document
    has 9,000 characters at most. `charts` are shown as Slack can: by itself, as pictures, or in
    words. A `picture` is sent as the file that `as_file` names.
    """

    title: str
    state: str = ""
    tone: Tone = Tone.QUIET
    lines: tuple[Markup, ...] = ()
    facts: tuple[tuple[str, Markup], ...] = ()
    progress: Progress | None = None
    charts: tuple[Chart, ...] = ()
    table: Table | None = None
    code: str = ""
    document: str = ""
    as_file: AsFile | None = None
    picture: Chart | None = None
    buttons: tuple[Button, ...] = ()
    footer: tuple[Markup, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """A suggested message to the bot: who chooses it by its title sends it."""

    title: str
    message: str


@dataclass(frozen=True)
class Reply:
    """An answer that only the person who asked sees; with `for_all`, everyone in the channel.

    `later` is a read that must look outside: it runs after the acknowledgement, in a bounded
    pool, and its own reply follows this one. A question did nothing yet, so that whoever says the
    same again is not asked whether they mean it. A `form` is opened in place of `lines`, which are
    shown where it cannot be. A refusal did nothing; that of a filled form has in `errors` a
    sentence for each field that does not fit. `options` are what a field offers to choose,
    `prompts` what the agent view suggests.
    """

    lines: tuple[Markup, ...] = ()
    card: Card | None = None
    buttons: tuple[Button, ...] = ()
    later: "Callable[[], Reply] | None" = None
    is_question: bool = False
    for_all: bool = False
    form: Form | None = None
    is_refusal: bool = False
    errors: Mapping[str, str] = field(default_factory=dict)
    options: tuple[Option, ...] = ()
    prompts: tuple[Prompt, ...] = ()
