"""Presets: defaults for submissions, some of them locked."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.config import Preset, Settings, Team
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.slack.card import Card, Table
from bot.slack.grammar.declarations import Parameter
from bot.slack.markup import plain
from bot.training.submission.building import Submission

# What several of can be given, and by what two of them are the same.
_SAME: Mapping[str, str] = {
    "env": "name",
    "secret": "name",
    "pvc": "path",
    "data": "path",
    "artifact": "path",
}
# Those that are written otherwise in a command; YAML reads a plain on as true.
_OTHERWISE: Mapping[str, str] = {"command": "command", "templates": "--on"}
_HEADER = ("Preset", "For", "Sets", "Locked")


def presets_of(settings: Settings, team: Team) -> dict[str, Preset]:
    """The presets that a team can use, by name; its own override the global ones."""
    return {**settings.presets, **team.presets}


def with_preset(
    asked: Submission, presets: Mapping[str, Preset], parameters: Iterable[Parameter]
) -> Submission:
    """The submission, completed with the options of its preset.

    `parameters` are those of the verb, which parse the values of the preset.

    Raises:
        NotFoundError: the team has no such preset.
        NotAllowedError: an option was given that the preset locks.
        ConflictError: the preset has a value that its option does not accept.
    """
    name = asked.preset
    if name is None:
        return asked
    preset = presets.get(name)
    if preset is None:
        raise NotFoundError(f"There is no preset {name}.", _there(presets))
    values = _read(name, preset, parameters)
    _refuse_locked(asked, name, preset, values)
    merged: dict[str, Any] = {key: _merged(asked, key, value) for key, value in values.items()}
    return replace(asked, **merged)


def presets_card(team: str, presets: Mapping[str, Preset]) -> Card:
    """The card of the presets that a team can use."""
    if not presets:
        line = plain("There are none. Platform admins define them in quartermaster.yaml.")
        return Card(f"Presets of {team}", lines=(line,))
    rows = tuple(
        (name, each.purpose, _sets(each), " ".join(map(_dashed, each.locked)))
        for name, each in sorted(presets.items())
    )
    return Card(f"Presets of {team}", table=Table(_HEADER, rows))


def _read(name: str, preset: Preset, parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The parsed values of the options that a preset sets."""
    known = {each.name: each for each in parameters}
    return {key: _value(name, known[key], value) for key, value in preset.options().items()}


def _value(name: str, parameter: Parameter, given: str | tuple[str, ...] | bool) -> object:  # noqa: FBT001 - what YAML says
    if isinstance(given, bool) or parameter.shape == "rest":
        return given
    texts = (given,) if isinstance(given, str) else given
    try:
        values = tuple(parameter.kind.read(text) for text in texts)
    except ValueError:
        raise ConflictError(
            f"Preset {name} sets {parameter.name} to {', '.join(texts)}, but that takes"
            f" {parameter.kind.form}.",
            "A platform admin has to correct it in quartermaster.yaml.",
        ) from None
    return values if parameter.multiple else values[0]


def _refuse_locked(asked: Submission, name: str, preset: Preset, values: Mapping[str, Any]) -> None:
    for key in preset.locked:
        typed = getattr(asked, key)
        if not _is_given(typed) or typed == values.get(key):
            continue
        option = "The command" if key == "command" else f"`{_dashed(key)}`"
        said = preset.options().get(key)
        is_what = f"it is {_said(said)}" if said else "it stays unset"
        raise NotAllowedError(
            f"{option} is locked by preset {name}: {is_what}.",
            f"Leave it out, or submit without `--preset {name}`.",
        )


def _merged(asked: Submission, key: str, value: Any) -> object:
    """The given value, else that of the preset; both for repeatable options."""
    typed = getattr(asked, key)
    if key not in _SAME:
        return typed if _is_given(typed) else value
    same = _SAME[key]
    taken = {getattr(each, same) for each in typed}
    return (*(each for each in value if getattr(each, same) not in taken), *typed)


def _is_given(typed: object) -> bool:
    """Whether an option was given; otherwise flags are false and lists empty."""
    return typed is not None and typed is not False and typed not in ("", ())


def _sets(preset: Preset) -> str:
    options = preset.options()
    command = options.pop("command", ())
    words = [f"{_dashed(key)} {_said(value)}".strip() for key, value in options.items()]
    return " ".join([*words, *([f"-- {_said(command)}"] if command else [])])


def _said(value: object) -> str:
    if isinstance(value, bool):
        return ""
    return value if isinstance(value, str) else shlex.join(_texts(value))


def _texts(value: object) -> Sequence[str]:
    return value if isinstance(value, tuple) else ()


def _dashed(key: str) -> str:
    return _OTHERWISE.get(key) or f"--{key.replace('_', '-')}"


def _there(presets: Mapping[str, Preset]) -> str:
    if not presets:
        return "Your team has none; submit without `--preset`."
    return f"Your team has: {', '.join(sorted(presets))}."
