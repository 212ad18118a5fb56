"""What words mean in the thread of a card: `logs` there is `train logs lane`."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.database.database import Session
from bot.errors import UsageError
from bot.people.access import Access
from bot.slack import messages
from bot.slack.grammar.declarations import HELP_WORDS, Parameter, Verb
from bot.slack.grammar.parameters import ValueType
from bot.slack.grammar.reading import closest, shown
from bot.slack.grammar.registry import Registry
from bot.slack.grammar.splitting import escaped, normalise
from bot.slack.receiving.incoming import Incoming


@dataclass(frozen=True)
class ThreadObject:
    """The object that a card shows, as commands name it.

    `names` has its name for each kind of value that can mean it, the most exact kind first.
    """

    command: str
    team: str
    names: Sequence[tuple[type[ValueType[Any]], str]]
    cluster: str = ""


FindObject = Callable[[Session, str], ThreadObject | None]
"""The object of a row's id; None if the row is gone."""


class ThreadCommands:
    """Completes commands that people write to the bot in threads of cards.

    `objects` has how to find the object, for each kind of subject that messages have.
    """

    def __init__(
        self, registry: Registry, access: Access, objects: Mapping[str, FindObject]
    ) -> None:
        self._registry = registry
        self._access = access
        self._objects = objects

    def completed(self, session: Session, incoming: Incoming) -> str:
        """The words of the whole command; those of `incoming` where they are one already.

        Raises:
            UsageError: the first word is neither a command nor a verb for the thread's object.
            NotAllowedError: the person may not use the bot here, so they are told no names.
        """
        found = self.object_at(session, incoming.channel, incoming.thread_ts or "")
        if found is None:
            return incoming.words
        self._access.caller(session, incoming.person, incoming.channel)
        first, rest = [*normalise(incoming.words).split(None, 1), "", ""][:2]
        word, rest = first.casefold(), escaped(rest)
        if not word or word in HELP_WORDS:
            return f"{found.command} help"
        verb = self._registry.commands[found.command].verbs.get(word)
        if verb is not None:
            return self._whole(found, verb, rest, incoming.channel)
        if self._is_command(word):
            return incoming.words
        raise self._unknown(word, found)

    def object_at(self, session: Session, channel: str, ts: str) -> ThreadObject | None:
        """The object of the card that is this message, None if it is no card of one."""
        subject = messages.subject_at(session, channel, ts)
        find = self._objects.get(subject.kind) if subject else None
        return find(session, subject.id) if subject and find else None

    def whole(self, found: ThreadObject, verb: Verb, channel: str) -> str:
        """The words of a command with this verb about the object."""
        return self._whole(found, verb, "", channel)

    def _whole(self, found: ThreadObject, verb: Verb, rest: str, channel: str) -> str:
        """With the object's name, unless the verb takes none or the words name another object."""
        lead, name = f"{found.command} {verb.name}", _name(verb, found)
        named = f"{lead} {rest}".rstrip()
        if not name:
            return named
        where = self._where(verb, found, channel)
        whole = " ".join(filter(None, (lead, shlex.quote(name), where, rest)))
        is_named = rest and not self._is_right(whole) and self._is_right(named)
        return named if is_named else whole

    def _where(self, verb: Verb, found: ThreadObject, channel: str) -> str:
        """The options for the object's team and cluster, where they are not understood."""
        _, here = self._access.place(channel)
        team = f"--team {found.team}" if verb.team and here != found.team else ""
        usual = self._access.cluster_of(found.team)
        is_usual = found.cluster in {"", usual}
        cluster = f"--cluster {found.cluster}" if verb.cluster and not is_usual else ""
        return " ".join(filter(None, (team, cluster)))

    def _is_right(self, words: str) -> bool:
        try:
            self._registry.parse_mention(words)
        except UsageError:
            return False
        return True

    def _is_command(self, word: str) -> bool:
        own = self._registry.commands.get(self._registry.umbrella)
        known = {*self._registry.commands, self._registry.umbrella, *(own.verbs if own else ())}
        return word.casefold() in known

    def _unknown(self, word: str, found: ThreadObject) -> UsageError:
        verbs = self._registry.commands[found.command].verbs
        near = closest(word, [*verbs, *self._registry.slash_commands])
        hint = f"Did you mean `{self._registry.mention.of(near)}`? " if near else ""
        listed = ", ".join(f"`{verb.name}`" for verb in verbs.values() if _name(verb, found))
        return UsageError(
            f"There is no command `{shown(self._registry.mention.of(word))}`.",
            f"{hint}In this thread these are about {found.names[0][1]}: {listed}.",
        )


def _name(verb: Verb, found: ThreadObject) -> str:
    """What the verb's first argument calls the object; empty if it takes none such."""
    first: Parameter | None = next((p for p in verb.parameters if p.shape == "argument"), None)
    if first is None:
        return ""
    return next((name for kind, name in found.names if isinstance(first.kind, kind)), "")
