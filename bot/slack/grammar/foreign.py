"""Commands of other programs that people paste, translated into ours; none runs unasked."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.errors import UsageError
from bot.slack.grammar.spelling import Spelling
from bot.slack.grammar.splitting import escaped, written
from bot.slack.markup import FormatCommand

_PROMPTS = frozenset({"$", "#", "%", ">", "~>"})
_HOST_PROMPT = re.compile(r"[\w.-]+@[\w.-]+:\S*[#$]")


@dataclass(frozen=True)
class Translation:
    """A pasted command as one of ours: `words` are what follows our command's name.

    `origin` names the program that it is for. `notes` are sentences about what was changed or left
    out. With `is_draft` the words have placeholders, so that they cannot be run as they are.
    """

    origin: str
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    is_draft: bool = False


Translate = Callable[[Sequence[str], str, FormatCommand], Translation | None]
"""Translates the words of a command, which are also given as text; None if it is one of ours.

UsageError for a command of another program that cannot be translated; its hint names commands as
they are typed here.
"""


class ForeignCommandError(UsageError):
    """A command of another program was typed; `text` is ours, with the name of our `command`.

    `words` are what to send in its place where it was sent.
    """

    def __init__(
        self, found: Translation, command: str, spelling: Spelling, *, is_named: bool
    ) -> None:
        rest = written(found.words)
        self.found = found
        self.command = command
        self.text = f"{command} {rest}"
        self.words = escaped(self.text if is_named else rest)
        self.spelling = spelling
        super().__init__(
            f"This is a command of {found.origin}. Here it is `{spelling.of(self.text)}`.",
            " ".join(found.notes),
        )


def without_prompt(words: Sequence[str]) -> Sequence[str]:
    """The words without the prompt of a shell, which is copied along with a command."""
    is_prompt = bool(words) and (words[0] in _PROMPTS or _HOST_PROMPT.fullmatch(words[0]))
    return words[1:] if is_prompt else words
