"""docs/settings.md, made from the models: `python -m bot.config.page docs/settings.md`."""

import sys
from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bot.config.explaining import explanations
from bot.config.kinds import Kind
from bot.config.models import Settings
from bot.durations import format_duration

_NAMES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    timedelta: "a duration like 8h",
}
_HEAD = "| key | value | default | what |\n|---|---|---|---|\n"
_TOP = """# Settings

<!-- Written by `make docs` from bot/config/models.py. -->

`quartermaster.yaml` is read at the start and again whenever it changes. Unknown keys and wrong
values stop the start, naming the line; in a running bot the old settings stay in use.
[quartermaster.example.yaml](../quartermaster.example.yaml) is a whole file to start from.
"""
_ENVIRONMENT = """
## Environment

| variable | what |
|---|---|
| `SLACK_BOT_TOKEN` | the bot token, `xoxb-...`; always needed |
| `SLACK_APP_TOKEN` | the app-level token, `xapp-...`; needed with `transport: socket` |
| `SLACK_SIGNING_SECRET` | needed with `transport: http` |
| `QUARTERMASTER_DATABASE_URL` | wins over `database.url` |
| `SLACK_API_URL` | wins over `slack.api_url` |
| `QUARTERMASTER_SECRETS_DIR` | a folder with any of these as files, named in small letters |

The environment wins over the folder. `workspace`, `playground`, `database`, `slack`, `http`,
`clock` and `clusters` take effect at the next start, everything else at once.
"""


def page() -> str:
    """The whole page; a section that stands in several places is explained once."""
    places: dict[type[BaseModel], list[str]] = {}
    _collect("", Settings, places)
    sections = "".join(_section(names, model) for model, names in places.items())
    return _TOP + sections + _ENVIRONMENT


def _collect(place: str, model: type[BaseModel], places: dict[type[BaseModel], list[str]]) -> None:
    places.setdefault(model, []).append(place)
    for key, field in model.model_fields.items():
        below = _model(field.annotation)
        if below:
            _collect(f"{place}.{key}{_inside(field)}".lstrip("."), below, places)


def _section(places: list[str], model: type[BaseModel]) -> str:
    heading = ", ".join(places) or "The file"
    what = explanations(model)
    rows = "".join(_row(key, field, what.get(key, "")) for key, field in model.model_fields.items())
    return f"\n## {heading}\n\n{model.__doc__}\n\n{_HEAD}{rows}"


def _row(key: str, field: FieldInfo, explanation: str) -> str:
    below = _model(field.annotation)
    what = " ".join((explanation or (below.__doc__ if below else None) or "").split())
    return f"| `{key}` | {_value(field)} | {_default(field)} | {what} |\n"


def _model(annotation: Any) -> type[BaseModel] | None:
    found = (a for a in (annotation, *get_args(annotation)) if isinstance(a, type))
    return next((a for a in found if issubclass(a, BaseModel)), None)


def _inside(field: FieldInfo) -> str:
    match get_origin(field.annotation):
        case origin if origin is dict:
            return ".NAME"
        case origin if origin is tuple:
            return "[]"
        case _:
            return ""


def _value(field: FieldInfo) -> str:
    return _words(field.metadata) or _type(field.annotation)


def _words(metadata: Iterable[Any]) -> str:
    kinds = (getattr(item, "func", None) for item in metadata)
    return next((kind.words for kind in kinds if isinstance(kind, Kind)), "")


def _type(annotation: Any) -> str:
    """The words for a type, as an admin thinks of it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(inner[1:]) or _type(inner[0])
    if origin is dict and _model(inner[1]) is None:
        return f"by name: {_type(inner[1])}"
    if origin in {tuple, dict}:
        return "sections by name" if origin is dict else f"a list, each {_type(inner[0])}"
    if type(None) in inner:
        return " or ".join(_type(each) for each in inner if each is not type(None))
    choices = inner if origin is Literal else _choices(annotation)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    return _NAMES.get(annotation, "a section")


def _choices(annotation: Any) -> tuple[str, ...]:
    is_enum = isinstance(annotation, type) and issubclass(annotation, StrEnum)
    return tuple(annotation) if is_enum else ()


def _default(field: FieldInfo) -> str:
    match field.default:
        case _ if field.is_required():
            return "needed"
        case bool(value):
            return f"`{str(value).lower()}`"
        case timedelta() as value:
            return f"`{format_duration(value).replace(' ', '')}`"
        case None | BaseModel() | () | "":
            return ""
        case value if value is PydanticUndefined:
            return ""
        case value:
            return f"`{value}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
