"""Shows what a pasted command of another program means here, and asks before it runs."""

from datetime import datetime

from bot.commands.questions import refuse_pasted_secrets
from bot.commands.repeating import run_button
from bot.slack.card import Reply
from bot.slack.grammar.foreign import ForeignCommandError
from bot.slack.markup import code, join, plain, sentence
from bot.slack.receiving.incoming import Incoming

_DRAFT = "Nothing was started. Complete the command and send it."
_SEND = "Nothing was started yet. Send the command if it is what you mean."
_ASK = "Nothing was started yet. Do you want to run it?"


def whether_to_run(incoming: Incoming, error: ForeignCommandError, now: datetime) -> Reply:
    """The translated command, what was changed in it, and a button that runs it.

    There is no button for a draft, nor for a command that is too long for one.
    """
    refuse_pasted_secrets(error.found.words)
    ours = code(error.spelling.of(error.text))
    lines = (
        join(plain(f"This is a command of {error.found.origin}. Here it is:"), "\n", ours),
        *(sentence(note) for note in error.found.notes),
    )
    if error.found.is_draft:
        return Reply((*lines, plain(_DRAFT)), is_question=True)
    button = run_button(incoming, error.words, now)
    if button is None:
        return Reply((*lines, plain(_SEND)), is_question=True)
    return Reply((*lines, plain(_ASK)), buttons=(button,), is_question=True)
