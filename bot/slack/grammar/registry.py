"""All declared commands, and the parser of texts for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.grammar.declarations import HELP_WORDS, ButtonVerb, Command, DeclarationError, Verb
from bot.slack.grammar.foreign import ForeignCommandError
from bot.slack.grammar.reading import MissingError, closest, read, shown, typed
from bot.slack.grammar.shortcuts import Shortcut
from bot.slack.grammar.spelling import Spelling
from bot.slack.grammar.splitting import escaped, normalise, split
from bot.slack.grammar.steps import WorkflowStep


class IncompleteError(UsageError):
    """A command lacks something, by an error that says what; `typed` has the rest by parameter."""

    def __init__(
        self,
        command: Command,
        verb: Verb,
        error: UsageError,
        typed: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(error.message, error.hint)
        self.command = command
        self.verb = verb
        self.typed = typed


@dataclass(frozen=True)
class Parsed:
    """A parsed command; `text` is the whole command, normalised.

    `words` are its name, its verb and what followed these.
    """

    command: Command
    verb: Verb
    values: Mapping[str, object]
    text: str
    words: tuple[str, ...]
    spelling: Spelling

    @property
    def writes(self) -> bool:
        """Whether it may have an effect beyond its answer."""
        return self.verb.mutates or any(self.values.get(name) for name in self.verb.writing)

    def lacking(self, error: UsageError) -> IncompleteError:
        """The error for a command that lacks something, with what was typed."""
        return IncompleteError(self.command, self.verb, error, typed(self.verb, self.words[2:]))

    def answer(self, ctx: object) -> Reply:
        """The reply of the verb's handler."""
        return self.verb.answer(ctx, self.values)


@dataclass(frozen=True)
class HelpAsked:
    """A request for help: on everything, on one command, or on one verb."""

    spelling: Spelling
    command: Command | None = None
    verb: Verb | None = None


class Registry:
    """The commands of one installation, under the names it gives them.

    `prefix` stands before each slash name (`/qm-train`); `umbrella` is the one slash command
    that takes every command's name as its first word; `bot_name` is mentioned for the same. A
    command with the umbrella's name has the verbs that follow it directly.
    """

    def __init__(
        self,
        commands: Iterable[Command],
        *,
        prefix: str = "",
        umbrella: str = "qm",
        bot_name: str = "Quartermaster",
        shortcuts: Iterable[Shortcut] = (),
        steps: Iterable[WorkflowStep] = (),
    ) -> None:
        self.umbrella = umbrella
        under, mention = f"/{umbrella} ", f"@{bot_name} "
        self.slash = Spelling(f"/{prefix.rstrip('-')}-" if prefix else "/", umbrella, under)
        self.under_umbrella = Spelling(under, umbrella, under)
        self.mention = Spelling(mention, umbrella, mention)
        self.commands: dict[str, Command] = {}
        self._buttons: dict[str, ButtonVerb] = {}
        self.shortcuts = {each.callback_id: each for each in shortcuts}
        self.steps = {each.callback_id: each for each in steps}
        for command in commands:
            self._add(command)

    def parse(self, name: str, text: str) -> Parsed | HelpAsked:
        """What `/name text` asks for; `name` with or without slash and prefix.

        UsageError says what was wrong, what would be right, and an example that works here.
        """
        word = name.removeprefix("/")
        if word == self.umbrella:
            return self.parse_umbrella(text)
        tidy = normalise(text)
        command = self._command(word.removeprefix(self.slash.lead[1:]), self.slash)
        return self._read(command, tidy, split(tidy), self.slash)

    def parse_umbrella(self, text: str) -> Parsed | HelpAsked:
        """What `/qm text` asks for; `text` begins with a command's name."""
        return self._parse_named(text, self.under_umbrella)

    def parse_mention(self, text: str) -> Parsed | HelpAsked:
        """What the text after a mention of the bot asks for."""
        return self._parse_named(text, self.mention)

    def button(self, action: str) -> ButtonVerb:
        """The button of an action id; a suffix such as `:2` only makes the id unique.

        UsageError if an old message shows a button that no longer exists.
        """
        declared = self._buttons.get(action.partition(":")[0])
        if declared is None:
            raise UsageError(
                "This button is from an older version and no longer works.",
                f"`{self.overview(self.slash)}` lists the commands you can use here.",
            )
        return declared

    def shortcut(self, callback_id: str) -> tuple[Shortcut, Command, Verb]:
        """The shortcut of that id, and the verb that it means; UsageError for an unknown one."""
        found = self.shortcuts.get(callback_id)
        if found is None:
            raise UsageError(
                "This shortcut is from another version and does not work here.",
                f"`{self.overview(self.slash)}` lists the commands you can use.",
            )
        command = self.commands[found.command]
        return found, command, command.verbs[found.verb]

    @property
    def slash_commands(self) -> dict[str, Command]:
        """The commands that have a slash name of their own, beside the umbrella's."""
        return {name: each for name, each in self.commands.items() if name != self.umbrella}

    @property
    def _own_verbs(self) -> Mapping[str, Verb]:
        own = self.commands.get(self.umbrella)
        return own.verbs if own else {}

    def overview(self, spelling: Spelling) -> str:
        """What to type for help on everything; slash commands have the umbrella for it."""
        return (self.under_umbrella if spelling == self.slash else spelling).of("help")

    def examples(self) -> Iterator[tuple[Command, str]]:
        """Every declared example with its command, as typed after the slash name."""
        for command in self.commands.values():
            for verb in command.verbs.values():
                yield from ((command, example) for example in verb.examples)

    def _add(self, command: Command) -> None:
        if command.name in self.commands:
            raise DeclarationError(f"Two commands are called {command.name}.")
        if command.unclaimed:
            raise DeclarationError(f"No verb is declared above {', '.join(command.unclaimed)}.")
        if not command.verbs:
            raise DeclarationError(f"Command {command.name} has no verb.")
        if command.alone is not None and command.alone not in command.verbs:
            raise DeclarationError(f"Command {command.name} has no verb {command.alone}.")
        self.commands[command.name] = command
        self._buttons |= command.buttons

    def _parse_named(self, text: str, spelling: Spelling) -> Parsed | HelpAsked:
        tidy = normalise(text)
        words = split(tidy)
        if not words:
            return HelpAsked(spelling)
        for command in self.commands.values():
            self._refuse_foreign(command, words, tidy, spelling)
        first, *others = words
        if first.casefold() in HELP_WORDS:
            return self._help_on(others, spelling)
        if first.casefold() in self._own_verbs:
            return self._read(self.commands[self.umbrella], tidy, words, spelling)
        name = first.removeprefix("/").removeprefix(self.slash.lead[1:])
        return self._read(self._command(name, spelling), tidy, others, spelling)

    def _help_on(self, words: Sequence[str], spelling: Spelling) -> HelpAsked:
        if not words:
            return HelpAsked(spelling)
        if words[0].casefold() in self._own_verbs:
            words = (self.umbrella, *words)
        command = self._command(words[0], spelling)
        verb = _verb(command, words[1], spelling) if words[1:] else None
        return HelpAsked(spelling, command, verb)

    def _read(
        self, command: Command, text: str, words: Sequence[str], spelling: Spelling
    ) -> Parsed | HelpAsked:
        if not words and command.alone is None:
            return HelpAsked(spelling, command)
        self._refuse_foreign(command, words, text, spelling)
        first, *others = words or (command.alone or "",)
        if first.casefold() in HELP_WORDS:
            return self._help_on([command.name, *others], spelling)
        verb = _verb(command, first, spelling)
        if _asks_for_help(others):
            return HelpAsked(spelling, command, verb)
        try:
            values = read(verb, others, spelling.of(f"{command.name} {verb.name}"))
        except MissingError as error:
            raise IncompleteError(command, verb, error, error.typed) from error
        said = (command.name, verb.name, *others)
        return Parsed(command, verb, values, text, said, spelling)

    def _refuse_foreign(
        self, command: Command, words: Sequence[str], text: str, spelling: Spelling
    ) -> None:
        """ForeignCommandError for a command of another program; UsageError if it is none of ours.

        What it means is parsed, so that what is shown would be understood.
        """
        found = command.translate(words, text, spelling.of) if command.translate else None
        if found is None:
            return
        is_named = spelling != self.slash
        error = ForeignCommandError(found, command.name, spelling, is_named=is_named)
        if not found.is_draft:
            with suppress(IncompleteError):
                self._parse_named(escaped(error.text), spelling)
        raise error

    def _command(self, word: str, spelling: Spelling) -> Command:
        command = self.commands.get(word.casefold())
        if command:
            return command
        own = {name: f"{self.umbrella} {name}" for name in self._own_verbs}
        near = closest(word, [*self.slash_commands, *own])
        hint = f"Did you mean `{spelling.of(own.get(near, near))}`? " if near else ""
        raise UsageError(
            f"There is no command `{shown(spelling.of(word))}`.",
            f"{hint}`{self.overview(spelling)}` lists the commands you can use here.",
        )


def _verb(command: Command, word: str, spelling: Spelling) -> Verb:
    verb = command.verbs.get(word.casefold())
    if verb:
        return verb
    near = closest(word, command.verbs)
    suggestion = (
        f"Did you mean `{spelling.of(f'{command.name} {near}')}`?"
        if near
        else (f"Its verbs are {', '.join(f'`{name}`' for name in command.verbs)}.")
    )
    example = command.verbs[near or next(iter(command.verbs))].examples[0]
    raise UsageError(
        f"`{shown(spelling.of(f'{command.name} {word}'))}` is not a command.",
        f"{suggestion} For example `{spelling.of(f'{command.name} {example}')}`.",
    )


def _asks_for_help(words: Sequence[str]) -> bool:
    before = words[: words.index("--")] if "--" in words else words
    return not {"-h", "--help"}.isdisjoint(before)
