"""Help on everything, a command or a verb: what this person may use in this channel."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum

from bot.durations import format_duration
from bot.slack.card import Card, Reply
from bot.slack.grammar.declarations import Command, Parameter, Verb
from bot.slack.grammar.registry import HelpAsked, Registry
from bot.slack.grammar.spelling import Spelling
from bot.slack.markup import Markup, code, join, plain


def help_reply(
    registry: Registry,
    asked: HelpAsked,
    allowed: Callable[[StrEnum], bool],
    defaults: Mapping[str, str],
) -> Reply:
    """The help that was asked for, without what this person may not do here.

    `defaults` says what holds in this channel, by parameter name (`team`: "team-a").
    """
    if asked.command is None:
        return Reply(card=_overview(registry, asked.spelling, allowed))
    if asked.verb is None:
        return Reply(card=_command_help(asked.command, asked.spelling, allowed, defaults))
    return Reply(card=_verb_help(asked.command, asked.verb, asked.spelling, allowed, defaults))


def described(parameter: Parameter, default: str | None = None) -> str:
    """What a parameter is for, what it takes, and its default if there is one."""
    takes = "" if parameter.shape in {"flag", "rest"} else f"takes {parameter.kind.form}"
    repeated = "may be repeated" if parameter.multiple else ""
    assumed = default or default_text(parameter)
    stated = f"default {assumed}" if assumed else ""
    return "; ".join(part for part in (parameter.help, takes, repeated, stated) if part)


def default_text(parameter: Parameter) -> str:
    """The declared default as a person would write it, empty if there is none."""
    value = parameter.default
    if value is None or value == () or parameter.shape == "flag":
        return ""
    return format_duration(value) if isinstance(value, timedelta) else str(value)


def _overview(registry: Registry, spelling: Spelling, allowed: Callable[[StrEnum], bool]) -> Card:
    lines = []
    for command in registry.commands.values():
        names = [verb.name for verb in _visible(command, allowed)]
        if names:
            lines.append(
                join(
                    code(spelling.of(command.name)),
                    plain(f" {command.summary}\n      "),
                    plain(", ".join(names)),
                )
            )
    nothing = plain("You cannot use any command here. Ask a platform admin for a role.")
    example = code(spelling.of(f"{next(iter(registry.commands))} help"))
    return Card(
        "Commands you can use here",
        lines=tuple(lines) or (nothing,),
        footer=(join(example, plain(" shows the details of a command.")),) if lines else (),
    )


def _command_help(
    command: Command,
    spelling: Spelling,
    allowed: Callable[[StrEnum], bool],
    defaults: Mapping[str, str],
) -> Card:
    verbs = _visible(command, allowed)
    lines = tuple(
        join(code(spelling.of(f"{command.name} {_short_usage(verb)}")), plain(f" {verb.summary}"))
        for verb in verbs
    )
    nothing = plain(
        "You cannot use this command in this channel."
        " Use your team's channel, or ask a platform admin for a role."
    )
    more = (
        [
            join(
                code(spelling.of(f"{command.name} help {verbs[0].name}")),
                plain(" shows the details of one of them."),
            )
        ]
        if verbs
        else []
    )
    here = ", ".join(f"{name} {value}" for name, value in defaults.items())
    if here and verbs:
        more.append(plain(f"Defaults here: {here}."))
    return Card(
        f"{spelling.of(command.name)}: {command.summary}",
        lines=lines or (nothing,),
        footer=tuple(more),
    )


def _verb_help(
    command: Command,
    verb: Verb,
    spelling: Spelling,
    allowed: Callable[[StrEnum], bool],
    defaults: Mapping[str, str],
) -> Card:
    return Card(
        f"{spelling.of(f'{command.name} {verb.name}')}: {verb.summary}",
        lines=tuple(_verb_lines(command, verb, spelling, defaults)),
        footer=() if allowed(verb.right) else (plain("You may not do this here."),),
    )


def _verb_lines(
    command: Command, verb: Verb, spelling: Spelling, defaults: Mapping[str, str]
) -> Iterator[Markup]:
    yield code(spelling.of(f"{command.name} {verb.usage}"))
    for parameter in verb.parameters:
        about = described(parameter, defaults.get(parameter.name))
        yield join(code(parameter.spelled), plain(f" {about}".rstrip()))
    yield plain("For example:" if len(verb.examples) == 1 else "Examples:")
    yield from (code(spelling.of(f"{command.name} {example}")) for example in verb.examples)


def _visible(command: Command, allowed: Callable[[StrEnum], bool]) -> list[Verb]:
    return [verb for verb in command.verbs.values() if allowed(verb.right)]


def _short_usage(verb: Verb) -> str:
    """The verb with its required parameters."""
    needed = [parameter.usage for parameter in verb.parameters if parameter.required]
    more = ["..."] if len(needed) < len(verb.parameters) else []
    return " ".join([verb.name, *needed, *more])
