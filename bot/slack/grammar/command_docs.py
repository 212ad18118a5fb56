"""docs/commands.md, written from the declarations."""

from collections.abc import Iterable, Iterator

from bot.slack.grammar.declarations import Command, Parameter, Verb
from bot.slack.grammar.help import described
from bot.slack.grammar.registry import Registry

_INTRODUCTION = """\
# Commands

Generated from the declarations in `handlers/` by `make docs`.

Every command also works as `{umbrella}` and, also in threads, as `{mention}`.
With the command prefix `qm`, `/train` becomes `/qm-train`. `help` after a command, or `--help`
after a verb, shows what works in that channel.

In the thread of a card, mention the bot with the verb alone: `{short}` is about the
run, dataset, snapshot or PVC of that card."""


def commands_page(registry: Registry) -> str:
    """The whole page in Markdown."""
    first = next(iter(registry.commands))
    introduction = _INTRODUCTION.format(
        umbrella=registry.under_umbrella.of(f"{first} ..."),
        mention=registry.mention.of(f"{first} ..."),
        short=registry.mention.of("logs"),
    )
    sections = (line for each in registry.commands.values() for line in _command(registry, each))
    return "\n".join([introduction, *sections]) + "\n"


def _command(registry: Registry, command: Command) -> Iterator[str]:
    name = registry.slash.of(command.name)
    yield f"\n## {name}\n\n{command.summary}."
    for verb in command.verbs.values():
        yield from _verb(name, verb)


def _verb(name: str, verb: Verb) -> Iterator[str]:
    yield f"\n### {name} {verb.name}\n\n{verb.summary}. Requires the right `{verb.right}`."
    yield f"\n```\n{name} {verb.usage}\n```"
    if verb.parameters:
        yield "\n| | |\n|---|---|"
        yield from _rows(verb.parameters)
    yield f"\nFor example:\n\n```\n{_joined(f'{name} {each}' for each in verb.examples)}\n```"


def _rows(parameters: Iterable[Parameter]) -> Iterator[str]:
    for parameter in parameters:
        about = described(parameter).replace("|", "\\|")
        yield f"| `{parameter.spelled}` | {about} |"


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
