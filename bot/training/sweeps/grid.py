"""The cells of a sweep: every combination of the values of its parameters. Pure: no I/O."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from bot.slack.grammar.container_parameters import EnvironmentVariable, SweptParameter

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def count_of(parameters: Iterable[SweptParameter]) -> int:
    """How many cells there are."""
    return prod(len(each.values) for each in parameters)


def values_of(parameters: Sequence[SweptParameter], number: int) -> dict[str, str]:
    """The values of a cell, counted from 1; those of the last parameter change first."""
    left, found = number - 1, dict[str, str]()
    for each in reversed(parameters):
        left, place = divmod(left, len(each.values))
        found[each.name] = each.values[place]
    return {each.name: found[each.name] for each in parameters}


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with values in place of `{name}`; other braces stay as they are."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def filled_words(words: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The words with values in place of `{name}`."""
    return tuple(filled(each, values) for each in words)


def filled_env(
    env: Sequence[EnvironmentVariable], values: Mapping[str, str]
) -> tuple[EnvironmentVariable, ...]:
    """The variables with values in place of `{name}`, and one more for each parameter."""
    given = tuple(EnvironmentVariable(each.name, filled(each.value, values)) for each in env)
    names = {each.name for each in given}
    own = (
        EnvironmentVariable(SweptParameter(name, ()).variable, value)
        for name, value in values.items()
    )
    return (*given, *(each for each in own if each.name not in names))


def unused(parameters: Iterable[SweptParameter], texts: Sequence[str]) -> SweptParameter | None:
    """The first parameter that none of the texts takes up, by `{name}` or by its variable."""
    names = {match for text in texts for match in _PLACEHOLDER.findall(text)}
    return next(
        (
            each
            for each in parameters
            if each.name not in names and not any(each.variable in text for text in texts)
        ),
        None,
    )
