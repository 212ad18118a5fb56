"""The form of a verb, from its declaration, and the command that a filled form spells."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from bot.slack.forms.form import MORE, Field, FieldKind, FieldsError
from bot.slack.grammar.choices import SomeOf
from bot.slack.grammar.declarations import Parameter, Verb
from bot.slack.grammar.help import default_text
from bot.slack.grammar.parameters import Choice
from bot.slack.grammar.reading import shown
from bot.slack.grammar.splitting import normalise, split

YES = "yes"
"""The option of a field for a flag."""

_MOST_BOXES = 10
_SPELLED = {
    "anf": "ANF", "cpu": "CPU", "csv": "CSV", "dm": "DM", "efa": "EFA", "gpu": "GPU",
    "gpus": "GPUs", "json": "JSON", "mibps": "MiB/s", "pvc": "PVC",
}  # fmt: skip


def fields_of(
    verb: Verb, typed: Mapping[str, Sequence[str]], defaults: Mapping[str, str]
) -> list[Field]:
    """The fields of the verb's form, with what was typed.

    `defaults` says what holds where a field stays empty, by parameter. Options that the form has no
    field for are written into one field, as in a command.
    """
    fields = [_field(each, typed, defaults) for each in verb.parameters if _is_shown(verb, each)]
    hidden = [each for each in verb.parameters if not _is_shown(verb, each)]
    if not hidden:
        return fields
    names = ", ".join(each.dashed for each in hidden)
    more = Field(
        MORE,
        "More options",
        FieldKind.LINES,
        hint=f"As in a command: {names}",
        example=next(f"{each.dashed} {each.kind.example}" for each in hidden),
        initial=" ".join(word for each in hidden for word in _words(each, typed.get(each.name))),
    )
    return [*fields, more]


def spelled(verb: Verb, texts: Mapping[str, str]) -> str:
    """The command after its name, from the texts of fields: a line for each value.

    Raises:
        FieldsError: for each field that does not fit, what it takes.
    """
    errors = dict(_errors(verb, texts))
    if errors:
        raise FieldsError(errors)
    words = [verb.name]
    for each in verb.parameters:
        if each.shape != "rest":
            words += _words(each, _values(each, texts.get(each.name, "")))
    more = " ".join(texts.get(MORE, "").split("\n")).strip()
    rest = texts.get(verb.rest.name, "").strip() if verb.rest else ""
    return " ".join(filter(None, (*words, more, rest and f"-- {rest}")))


def _is_shown(verb: Verb, parameter: Parameter) -> bool:
    is_chosen = not verb.form or parameter.name in verb.form
    return is_chosen or parameter.required or not parameter.dashed


def _field(
    parameter: Parameter, typed: Mapping[str, Sequence[str]], defaults: Mapping[str, str]
) -> Field:
    kind, options = _kind_of(parameter)
    given = typed.get(parameter.name)
    initial = _initial(parameter, given) if given is not None else ""
    if given is None and kind is FieldKind.CHOICE:
        initial = default_text(parameter)
    return Field(
        parameter.name,
        _label(parameter),
        kind,
        hint=_hint(parameter, defaults.get(parameter.name) or default_text(parameter)),
        example="" if parameter.shape in {"flag", "rest"} else parameter.kind.example,
        options=options,
        initial=initial,
        is_optional=not parameter.required,
    )


def _kind_of(parameter: Parameter) -> tuple[FieldKind, tuple[str, ...]]:
    kind = parameter.kind
    if parameter.shape == "flag":
        return FieldKind.TICK, (YES,)
    if isinstance(kind, Choice):
        return FieldKind.CHOICE, kind.words
    if isinstance(kind, SomeOf) and len(kind.words) <= _MOST_BOXES:
        return FieldKind.CHOICES, kind.words
    if parameter.multiple or parameter.shape == "rest":
        return FieldKind.LINES, ()
    return FieldKind.LINE, ()


def _initial(parameter: Parameter, given: Sequence[str]) -> str:
    if parameter.shape == "flag":
        return YES
    if parameter.shape == "rest":
        return shlex.join(given)
    if isinstance(parameter.kind, SomeOf):
        return "\n".join(word for text in given for word in text.split(","))
    return "\n".join(given)


def _label(parameter: Parameter) -> str:
    words = [_SPELLED.get(word, word) for word in parameter.name.split("_")]
    label = " ".join(words)
    return label[:1].upper() + label[1:]


def _hint(parameter: Parameter, default: str) -> str:
    """What it is for, how to write several, and the default unless the help names one."""
    several = "One on each line." if parameter.multiple else ""
    named = default and "default" not in parameter.help
    assumed = f"Default: {default}." if named else ""
    return " ".join(filter(None, (f"{parameter.help}.", several, assumed)))


def _words(parameter: Parameter, values: Sequence[str] | None) -> list[str]:
    """The words of a command that give the parameter these values."""
    if values is None:
        return []
    if parameter.shape == "flag":
        return [parameter.dashed] if values else []
    if parameter.shape == "argument":
        return [shlex.quote(each) for each in values]
    return [word for each in values for word in (parameter.dashed, shlex.quote(each))]


def _values(parameter: Parameter, text: str) -> list[str]:
    """The values in the text of a field, empty lines aside."""
    lines = [normalise(line) for line in text.splitlines()]
    values = [line for line in lines if line]
    if isinstance(parameter.kind, SomeOf):
        return [",".join(values)] if values else []
    return values if parameter.multiple else [" ".join(values)] if values else []


def _errors(verb: Verb, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for parameter in verb.parameters:
        values = _values(parameter, texts.get(parameter.name, ""))
        if parameter.required and not values:
            yield parameter.name, "This is required."
        if parameter.shape in {"flag", "rest"}:
            continue
        for value in values:
            if not _reads(parameter, value):
                kind = parameter.kind
                right = f"Write {kind.form}, for example {kind.example}."
                yield parameter.name, f"This cannot be {shown(value)}. {right}".replace("`", "")
                break
    if "--" in split(normalise(texts.get(MORE, ""))):
        yield MORE, "Only options go here, without -- and what follows it."


def _reads(parameter: Parameter, value: str) -> bool:
    try:
        parameter.kind.read(value)
    except ValueError:
        return False
    return True
