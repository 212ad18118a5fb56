"""The form of a verb, from its declaration, and the command that a filled form spells."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
_LABELS = {"yes": "Without confirmation"}
_SEARCHES = {FieldKind.SEARCH, FieldKind.SEARCHES}
_SPELLED = {
    "anf": "ANF", "cpu": "CPU", "csv": "CSV", "dm": "DM", "efa": "EFA", "gpu": "GPU",
    "gpus": "GPUs", "json": "JSON", "mibps": "MiB/s", "pvc": "PVC",
}  # fmt: skip


@dataclass(frozen=True)
class FormFacts:
    """What a form shows beyond what its verb declares.

    `initials` is what the fields hold, by their names. `applying` are the dependent parameters that
    apply, and of `team` and `cluster` those that matter here. The person `is_undecided` if they
    have to say for which team. `searched` are the kinds of value with options to search for.
    `defaults` says what holds where a field stays empty, by parameter.
    """

    initials: Mapping[str, str] = field(default_factory=dict)
    applying: Collection[str] = ()
    is_undecided: bool = False
    searched: Collection[type] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)


def initials_of(
    verb: Verb, typed: Mapping[str, Sequence[str]], applying: Collection[str]
) -> dict[str, str]:
    """What the fields hold that show what was typed; what has no field is in one for all these."""
    shown = set(_shown(verb, applying))
    texts = {p.name: _initial(p, typed[p.name]) for p in shown if p.name in typed}
    others = [p for p in verb.parameters if p not in shown]
    more = " ".join(word for p in others for word in _words(p, typed.get(p.name)))
    return {**texts, **({MORE: more} if more else {})}


def fields_of(verb: Verb, facts: FormFacts) -> list[Field]:
    """The fields of the verb's form."""
    shown = _shown(verb, facts.applying)
    fields = [_field(verb, each, facts) for each in shown]
    absent = {*verb.form.dependent, *_shared(verb)}
    others = [p for p in verb.parameters if p not in shown and p.name not in absent]
    if not others:
        return fields
    names = ", ".join(each.dashed for each in others)
    more = Field(
        MORE,
        "More options",
        FieldKind.LINES,
        hint=f"As in a command: {names}",
        example=f"{others[0].dashed} {_example(others[0])}".rstrip(),
        initial=facts.initials.get(MORE, ""),
    )
    return [*fields, more]


def _example(parameter: Parameter) -> str:
    """A value that it takes; empty for a flag, which takes none, and for what may be anything."""
    return "" if parameter.shape in {"flag", "rest"} else parameter.kind.example


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
    more = texts.get(MORE, "").strip()
    rest = texts.get(verb.rest.name, "").strip() if verb.rest else ""
    return " ".join(filter(None, (*words, more, rest and f"-- {rest}")))


def _shown(verb: Verb, applying: Collection[str]) -> list[Parameter]:
    """The parameters that have fields, in the order of the plan; required ones come first."""
    plan = verb.form
    absent = {*plan.dependent, *_shared(verb)} - {*applying}
    chosen = plan.fields or [each.name for each in verb.parameters]
    known = [each for each in verb.parameters if each.name not in absent]
    found = [each for each in known if _has_field(each, [*chosen, *applying])]
    place = {name: number for number, name in enumerate(plan.fields)}
    first = [each for each in found if each.shape == "argument" or each.required]
    last = [each for each in found if each.shape == "rest"]
    between = [each for each in found if each not in first and each not in last]
    return [*first, *sorted(between, key=lambda each: place.get(each.name, len(place))), *last]


def _shared(verb: Verb) -> set[str]:
    """The options that most verbs have and most people need not give."""
    return {name for name, has in (("team", verb.team), ("cluster", verb.cluster)) if has}


def _has_field(parameter: Parameter, chosen: Collection[str]) -> bool:
    return parameter.name in chosen or parameter.required or not parameter.dashed


def _field(verb: Verb, parameter: Parameter, facts: FormFacts) -> Field:
    kind, options = _kind_of(parameter, facts.searched)
    default = facts.defaults.get(parameter.name) or default_text(parameter)
    is_team = parameter.name == "team" and bool(verb.team)
    initial = facts.initials.get(parameter.name)
    if initial is None:
        initial = default_text(parameter) if kind is FieldKind.CHOICE else ""
    return Field(
        parameter.name,
        _label(parameter),
        kind,
        hint=_hint(parameter, default, is_searched=kind in _SEARCHES),
        example=_example(parameter),
        options=options,
        initial=initial,
        is_optional=not (parameter.required or (is_team and facts.is_undecided)),
        is_watched=is_team or parameter.name in verb.form.watched,
    )


def _kind_of(parameter: Parameter, searched: Collection[type]) -> tuple[FieldKind, tuple[str, ...]]:
    kind = parameter.kind
    if parameter.shape == "flag":
        return FieldKind.TICK, (YES,)
    if isinstance(kind, Choice):
        return FieldKind.CHOICE, kind.words
    if isinstance(kind, SomeOf) and len(kind.words) <= _MOST_BOXES:
        return FieldKind.CHOICES, kind.words
    if type(kind) in searched:
        return FieldKind.SEARCHES if parameter.multiple else FieldKind.SEARCH, ()
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
    """The name of what it takes; that of a flag says nothing without the code around it."""
    is_named = parameter.shape != "flag" and not parameter.name.endswith("_bytes")
    name = parameter.name if is_named else parameter.dashed.lstrip("-").replace("-", "_")
    if name in _LABELS:
        return _LABELS[name]
    label = " ".join(_SPELLED.get(word, word) for word in name.split("_"))
    return label[:1].upper() + label[1:]


def _hint(parameter: Parameter, default: str, *, is_searched: bool) -> str:
    """What it is for, how to write several, and the default unless the help names one."""
    several = "One on each line." if parameter.multiple and not is_searched else ""
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
            if not reads(parameter, value):
                kind = parameter.kind
                right = f"Write {kind.form}, for example {kind.example}."
                yield parameter.name, f"This cannot be {shown(value)}. {right}".replace("`", "")
                break
    if "--" in split(normalise(texts.get(MORE, ""))):
        yield MORE, "Only options go here, without -- and what follows it."


def reads(parameter: Parameter, value: str) -> bool:
    """Whether the text can be a value of the parameter."""
    try:
        parameter.kind.read(value)
    except ValueError:
        return False
    return True
