"""Mistakes in the file as messages: the place, the wrong value, and what would be valid."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bot.config.document import Document, Path
from bot.config.explaining import explanations
from bot.config.models import Settings
from bot.errors import ConfigurationError

_LONGEST_SHOWN = 60
_MOST_SHOWN = 10

Mistake = tuple[Path, str]


def refusal(document: Document, mistakes: Iterable[Mistake]) -> ConfigurationError:
    """An error with all mistakes in file order, one per line; after ten, only their number."""
    lines = [
        f"{document.place(path)}: {sentence}"
        for path, sentence in sorted(mistakes, key=lambda m: document.line(m[0]))
    ]
    more = len(lines) - _MOST_SHOWN
    if more > 0:
        lines[_MOST_SHOWN:] = [f"... and {more} more."]
    return ConfigurationError("\n".join(lines), "docs/settings.md explains every key.")


def of_validation(error: ValidationError) -> list[Mistake]:
    """The mistakes found by the pydantic models."""
    return [_mistake(details) for details in error.errors(include_url=False)]


def name(path: Path) -> str:
    """A path in the file as text: teams.team-a.channels[0]."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def suggestion(word: str, known: Iterable[str]) -> str:
    """A hint with the closest known word, or with all known words."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1)
    return f"did you mean {close[0]}?" if close else f"choose one of: {', '.join(words)}."


def _mistake(details: ErrorDetails) -> Mistake:
    path = tuple(part for part in details["loc"] if part != "[key]")
    match details["type"]:
        case "missing":
            words = explanations(_model(path[:-1])).get(str(path[-1]), "")
            return path, f"{name(path[:-1])} needs {path[-1]}. {words}".rstrip()
        case "extra_forbidden" if words := _retired(path, details["input"]):
            return path, words
        case "extra_forbidden":
            known = _model(path[:-1]).model_fields
            words = suggestion(str(path[-1]), known)
            return path, f"{name(path[:-1])} has no key {path[-1]}; {words}"
        case _:
            return path, f"{name(path)} is {_shown(path, details)}; {_right(details)}"


def _retired(path: Path, value: object) -> str:
    """How to replace a key of earlier versions; empty for other keys."""
    match path:
        case ("stores", str(store), "teams"):
            teams = value if isinstance(value, list) and value else ["team-a"]
            places = ", ".join(f"{team}: [s3://BUCKET/FOLDER/]" for team in teams)
            return (
                f"stores.{store}.teams is no longer supported: list the places each team may use,"
                f" as places: {{{places}}}."
            )
        case _:
            return ""


def _model(path: Path) -> type[BaseModel]:
    """The model of the section at `path`."""
    model: type[BaseModel] = Settings
    is_inside = False
    for part in path:
        if is_inside:  # a map's key, a list's index
            is_inside = False
            continue
        annotation = model.model_fields[str(part)].annotation
        is_inside = get_origin(annotation) in {dict, tuple}
        model = next(a for a in (annotation, *get_args(annotation)) if _is_model(a))
    return model


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _shown(path: Path, details: ErrorDetails) -> str:
    if details["loc"][-1] == "[key]":
        return f'named "{path[-1]}"'
    match details["input"]:
        case None:
            return "empty"
        case bool(value):
            return str(value).lower()
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case str(text) if len(text) > _LONGEST_SHOWN:
            return f'"{text[:_LONGEST_SHOWN]}..."'
        case str(text):
            return f'"{text}"'
        case value:
            return str(value)


def _right(details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    if details["type"] in {"literal_error", "enum"}:
        choices = str(context["expected"]).replace("'", "")
        words = choices.replace(" or ", ", ").split(", ")
        close = get_close_matches(str(details["input"]), words, n=1)
        return f"it must be {choices}{f' (did you mean {close[0]}?)' if close else '.'}"
    if details["type"] == "value_error":
        return f"{context['error']}."
    return f"{details['msg'].replace('Input should be', 'it must be', 1)}."
