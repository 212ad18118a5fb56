"""Translates commands of other programs, which guides print, into those of `/train`."""

import re
from collections.abc import Sequence

from bot.errors import UsageError
from bot.slack.grammar.foreign import Translation, without_prompt
from bot.slack.markup import FormatCommand
from bot.training.translation.kubectl import from_kubectl
from bot.training.translation.runai import from_runai
from bot.training.translation.volumes import refuse_docker, refuse_folders

# Hints name our commands as they are typed after a mention of the bot.
_OURS = re.compile(r"`(train [^`]+)`")


def translated(
    words: Sequence[str], text: str, format_command: FormatCommand
) -> Translation | None:
    """The command as one of `/train`, None if it is not one of Run:ai or kubectl.

    UsageError for those that have no counterpart, with what to use.
    """
    try:
        return _translated(words, text)
    except UsageError as error:
        hint = _OURS.sub(lambda found: f"`{format_command(found[1])}`", error.hint)
        raise UsageError(error.message, hint) from error


def _translated(words: Sequence[str], text: str) -> Translation | None:
    plain = without_prompt(words)
    after_submit = without_prompt(plain[1:]) if plain[:1] == ["submit"] else ()
    for each in filter(None, (plain, after_submit)):
        refuse_docker(each)
        found = from_runai(each) or from_kubectl(each, text)
        if found is not None:
            return found
    if after_submit:
        refuse_folders(plain)
    return None
