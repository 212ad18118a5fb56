"""Parses words into a verb's values: click separates options from arguments, errors are ours."""

import difflib
import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import click

from bot.errors import UsageError
from bot.slack.grammar.declarations import Parameter, Verb

_NUMBER = re.compile(r"-\.?[0-9].*", re.DOTALL)
_MINUS = "\ufdd2"
_POSITIONAL = "words"
_LONGEST_QUOTE = 60


class MissingError(UsageError):
    """Something required is missing; `typed` has what was written for each parameter."""

    def __init__(self, message: str, hint: str, typed: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message, hint)
        self.typed = typed


def read(verb: Verb, words: Sequence[str], spoken: str) -> dict[str, object]:
    """The handler's keywords and their values.

    `spoken` is the verb as it is typed where the person is. UsageError says what was wrong,
    what is right, and an example.
    """
    example = f"For example `{spoken}{verb.examples[0].removeprefix(verb.name)}`."
    try:
        return _values(verb, words)
    except MissingError as error:
        hint = f"{error.hint} {example}".strip()
        raise MissingError(error.message, hint, error.typed) from error
    except UsageError as error:
        raise UsageError(error.message, f"{error.hint} {example}".strip()) from error


def typed(verb: Verb, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What was written for each parameter, word by word, in words that `read` accepts."""
    given, bare = _given_values(verb, words)
    return {name: _typed(value) for name, value in given.items()} | {p.name: ("",) for p in bare}


def shown(text: str) -> str:
    """`text` that a person wrote, fit to be repeated to them within backticks."""
    flat = " ".join(text.replace("`", "\u02cb").split())
    return flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` most likely means, if any is near."""
    near = difflib.get_close_matches(word[:_LONGEST_QUOTE].casefold(), list(known), 1, 0.55)
    return near[0] if near else None


def _values(verb: Verb, words: Sequence[str]) -> dict[str, object]:
    given, bare = _given_values(verb, words)
    _refuse_missing(verb, given)
    written = {p.name: _value(p, given[p.name]) for p in verb.parameters if p.name in given}
    return {**_unwritten(verb), **{p.name: p.bare for p in bare}, **written}


def _given_values(
    verb: Verb, words: Sequence[str]
) -> tuple[dict[str, object], Collection[Parameter]]:
    """What was written for each parameter, and the options that were given without a value."""
    parted = "--" in words
    end = words.index("--") if parted else len(words)
    rest = tuple(words[end + 1 :])
    bare = _bare(verb, words[:end])
    written_out = [word for number, word in enumerate(words[:end]) if number not in bare]
    raw = _told_apart(verb, [_held(word) for word in written_out], parted=parted)
    if parted and verb.rest is None:
        raise UsageError(f"`{verb.name}` takes no arguments after ` -- `.")
    named = [p for p in verb.parameters if p.dashed and p.name in raw]
    given = {p.name: _given(verb, p, raw[p.name]) for p in named}
    _refuse_both(bare.values(), given)
    given |= _placed(verb, [_freed(word) for word in raw[_POSITIONAL]], parted=parted)
    if verb.rest and rest:
        given[verb.rest.name] = rest
    return given, bare.values()


def _bare(verb: Verb, words: Sequence[str]) -> dict[int, Parameter]:
    """Where options stand without a value that may: last, or before another option."""
    may = {p.dashed: p for p in verb.parameters if p.bare is not None}
    after = [*words[1:], "--"]
    return {
        number: may[word]
        for number, word in enumerate(words)
        if word in may and after[number].startswith("--")
    }


def _refuse_both(bare: Iterable[Parameter], given: Mapping[str, object]) -> None:
    for parameter in bare:
        if parameter.name in given:
            both = "with a value and without"
            raise UsageError(f"`{parameter.dashed}` is given twice, {both}; it takes one value.")


def _told_apart(verb: Verb, words: list[str], *, parted: bool) -> dict[str, Any]:
    """What click makes of the words before ` -- `: by parameter, and the positional ones."""
    try:
        found: dict[str, Any] = _click_parser(verb).parse_args(list(words))[0]
    except click.NoSuchOption as error:
        raise _unknown_option(verb, error.option_name, words, parted=parted) from error
    except click.BadOptionUsage as error:
        option = next(p for p in verb.parameters if p.dashed == error.option_name)
        needs = "takes no value" if option.shape == "flag" else f"needs a value: {option.kind.form}"
        raise UsageError(f"`{option.dashed}` {needs}.") from error
    positional = found.get(_POSITIONAL)
    return found | {_POSITIONAL: positional if isinstance(positional, tuple) else ()}


@functools.cache
def _click_parser(verb: Verb) -> Any:
    """A parser that separates options from arguments; created once per verb."""
    parameters: list[click.Parameter] = [
        click.Option([p.dashed, p.name], is_flag=True)
        if p.shape == "flag"
        else click.Option([p.dashed, p.name], multiple=True, type=click.UNPROCESSED)
        for p in verb.parameters
        if p.dashed
    ]
    positional = click.Argument([_POSITIONAL], nargs=-1, type=click.UNPROCESSED)
    command = click.Command(verb.name, params=[*parameters, positional], add_help_option=False)
    return command.make_parser(click.Context(command))


def _unknown_option(verb: Verb, name: str, words: Sequence[str], *, parted: bool) -> UsageError:
    written = next((word for word in words if word.startswith(name)), name).partition("=")[0]
    flags = [parameter.dashed for parameter in verb.parameters if parameter.dashed]
    near = closest(f"--{written.lstrip('-')}", flags)
    hints = []
    if near:
        hints.append(f"Did you mean `{near}`?")
    elif flags:
        hints.append(f"Its options are {', '.join(f'`{flag}`' for flag in flags)}.")
    if verb.rest and not parted:
        hints.append(f"Arguments of the {verb.rest.name} go after ` -- `.")
    return UsageError(f"`{verb.name}` has no option `{shown(written)}`.", " ".join(hints))


@functools.cache
def _unwritten(verb: Verb) -> dict[str, object]:
    """The values of parameters that were not given."""
    values: dict[str, object] = {p.name: p.default for p in verb.parameters}
    values |= {p.name: () for p in verb.parameters if p.multiple and p.default is None}
    return values | {p.name: False for p in verb.parameters if p.shape == "flag"}


def _given(verb: Verb, parameter: Parameter, raw: Any) -> object:
    """What was written for an option or flag."""
    if parameter.shape == "flag":
        return True
    texts = [_freed(text) for text in raw]
    for swallowed in {each.dashed for each in verb.parameters}.intersection(texts):
        raise UsageError(
            f"`{parameter.dashed}` needs a value, but the option `{swallowed}` follows."
        )
    if len(texts) > 1 and not parameter.multiple:
        both = " and ".join(f"`{shown(text)}`" for text in texts[:2])
        raise UsageError(f"`{parameter.dashed}` is given twice, as {both}; it takes one value.")
    return texts


def _placed(verb: Verb, words: list[str], *, parted: bool) -> dict[str, object]:
    """The positional words, handed out to the arguments in their order."""
    placed: dict[str, object] = {}
    left = words
    for parameter in verb.parameters:
        if parameter.shape == "argument":
            count = len(left) if parameter.multiple else 1
            if left:
                placed[parameter.name], left = left[:count], left[count:]
    if left:
        raise _too_many(verb, left, parted=parted)
    return placed


def _too_many(verb: Verb, left: list[str], *, parted: bool) -> UsageError:
    hints = [f"Usage: `{verb.usage}`."]
    if verb.rest and not parted:
        hints.append(f"Arguments of the {verb.rest.name} go after ` -- `.")
    else:
        hints.append("Put quotes around a value of several words.")
    message = f"`{verb.name}` takes no argument `{shown(' '.join(left))}`."
    return UsageError(message, " ".join(hints))


def _refuse_missing(verb: Verb, given: dict[str, object]) -> None:
    missing = [p for p in verb.parameters if p.required and p.name not in given]
    if missing:
        names = " and ".join(f"`{parameter.spelled}`" for parameter in missing)
        is_are = "is" if len(missing) == 1 else "are"
        forms = "; ".join(
            f"{p.word} is {p.kind.form}" for p in missing if p.shape in {"argument", "option"}
        )
        typed = {name: _typed(value) for name, value in given.items()}
        raise MissingError(f"{names} {is_are} missing.", f"{forms}." if forms else "", typed)


def _typed(given: object) -> tuple[str, ...]:
    """What was written for a parameter, word by word; one empty word for a flag."""
    return tuple(map(str, given)) if isinstance(given, list | tuple) else ("",)


def _value(parameter: Parameter, given: object) -> object:
    if not isinstance(given, list):
        return given
    values = [_converted(parameter, text) for text in given]
    return tuple(values) if parameter.multiple else values[0]


def _converted(parameter: Parameter, text: str) -> object:
    label = parameter.dashed or parameter.word
    try:
        return parameter.kind.read(text)
    except ValueError as error:
        example = " ".join(filter(None, (parameter.dashed, parameter.kind.example)))
        raise UsageError(
            f"`{label}` takes {parameter.kind.form}, not `{shown(text)}`.",
            f"Write it like `{example}`.",
        ) from error


def _held(word: str) -> str:
    """A negative number, marked so that click does not take it for an option."""
    return _MINUS + word if _NUMBER.fullmatch(word) else word


def _freed(word: str) -> str:
    return word.removeprefix(_MINUS)
