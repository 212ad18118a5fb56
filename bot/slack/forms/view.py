"""A form as a view of Slack, within Slack's limits, and the fields of one that was sent."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bot.slack.forms.form import (
    LONGEST_OPTION,
    LONGEST_TEXT,
    MOST_OPTIONS,
    Field,
    FieldKind,
    Form,
    Option,
)
from bot.slack.markup import Markup
from bot.slack.shortening import cut, cut_markup, first_that_fit

CALLBACK = "form"
_ACTION = "value"
_TITLE = _SUBMIT = 24
_LABEL = _HINT = 2_000
_PLACEHOLDER = 150
_OPTION = 75
_BOXES = 10
_SECTION = 3_000
_BLOCKS = 100
# What the lines above or below the fields may take, so that the view stays below 250 kB.
_LINES = 12_000

View = dict[str, Any]


def view_of(form: Form) -> View:
    """The view; of Slack's 100 blocks fields come first, then the lines for which there is room."""
    fields = [_input(each) for each in form.fields[:_BLOCKS]]
    lines = _sections(form.lines, _BLOCKS - len(fields))
    foreseen = _sections(form.foreseen, _BLOCKS - len(fields) - len(lines))
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": msgspec.json.encode(form.place).decode(),
        "title": _plain(form.title, _TITLE),
        "submit": _plain(form.submit, _SUBMIT),
        "close": _plain("Cancel", _SUBMIT),
        "blocks": [*lines, *fields, *foreseen],
    }


def filled(view: Mapping[str, Any]) -> dict[str, str]:
    """What each field of a sent view holds, a line for each value; empty ones included."""
    values = view.get("state", {}).get("values", {})
    return {
        block: "\n".join(_texts(element))
        for block, elements in values.items()
        for element in elements.values()
    }


def notice_of(title: str, lines: Sequence[Markup]) -> View:
    """A view that only says something."""
    return {
        "type": "modal",
        "title": _plain(title, _TITLE),
        "close": _plain("Close", _SUBMIT),
        "blocks": _sections(lines, _BLOCKS),
    }


def options_of(options: Sequence[Option]) -> list[View]:
    """The options of a search as Slack takes them; those that are too long for it are left out."""
    fit = [each for each in options if _is_option(each.value)]
    return [_choice(each.value, each.shown) for each in fit[:MOST_OPTIONS]]


def _texts(element: Mapping[str, Any]) -> list[str]:
    if element.get("value"):
        return [str(element["value"])]
    if element.get("selected_option"):
        return [str(element["selected_option"]["value"])]
    return [str(each["value"]) for each in element.get("selected_options") or ()]


def _input(field: Field) -> View:
    block: View = {
        "type": "input",
        "block_id": field.name,
        "label": _plain(field.label, _LABEL),
        "optional": field.is_optional,
        "element": _ELEMENTS[field.kind](field),
    }
    if field.is_watched:
        block["dispatch_action"] = True
    return {**block, "hint": _plain(field.hint, _HINT)} if field.hint else block


def _text(field: Field) -> View:
    element: View = {
        "type": "plain_text_input",
        "action_id": _ACTION,
        "max_length": LONGEST_TEXT,
        "multiline": field.kind is FieldKind.LINES,
    }
    if field.example:
        element["placeholder"] = _plain(f"For example {field.example}", _PLACEHOLDER)
    if field.initial:
        element["initial_value"] = field.initial[:LONGEST_TEXT]
    if field.is_watched:
        element["dispatch_action_config"] = {"trigger_actions_on": ["on_character_entered"]}
    return element


def _select(field: Field) -> View:
    offered = list(filter(_is_option, field.options))[:MOST_OPTIONS]
    element: View = {
        "type": "static_select",
        "action_id": _ACTION,
        "options": [_option(each) for each in offered],
    }
    if field.initial in offered:
        element["initial_option"] = _option(field.initial)
    return element


def _search(field: Field) -> View:
    several = field.kind is FieldKind.SEARCHES
    element: View = {
        "type": "multi_external_select" if several else "external_select",
        "action_id": _ACTION,
        "min_query_length": 0,
        "placeholder": _plain(f"Choose or type, for example {field.example}", _PLACEHOLDER),
    }
    wanted = dict.fromkeys(filter(_is_option, field.initial.splitlines()))
    chosen = [_option(each) for each in wanted][:MOST_OPTIONS]
    if chosen:
        element |= {"initial_options": chosen} if several else {"initial_option": chosen[0]}
    return element


def _boxes(field: Field) -> View:
    wanted = field.initial.splitlines()
    offered = list(filter(_is_option, field.options))[:_BOXES]
    chosen = [_option(each) for each in offered if each in wanted]
    element: View = {
        "type": "checkboxes",
        "action_id": _ACTION,
        "options": [_option(each) for each in offered],
    }
    return {**element, "initial_options": chosen} if chosen else element


_ELEMENTS = {
    FieldKind.LINE: _text,
    FieldKind.LINES: _text,
    FieldKind.CHOICE: _select,
    FieldKind.CHOICES: _boxes,
    FieldKind.SEARCH: _search,
    FieldKind.SEARCHES: _search,
    FieldKind.TICK: _boxes,
}


def _is_option(value: str) -> bool:
    """Whether Slack takes it: cut, it would mean something else."""
    return bool(value.strip()) and len(value) <= LONGEST_OPTION


def _option(word: str) -> View:
    return _choice(word, word)


def _choice(value: str, text: str) -> View:
    return {"text": _plain(text, _OPTION), "value": value}


def _plain(text: str, most: int) -> View:
    return {"type": "plain_text", "text": cut(text, most)}


def _sections(lines: Sequence[Markup], most: int) -> list[View]:
    """A block for each line that says something, at most so many."""
    said = [cut_markup(line, _SECTION) for line in lines if line.strip()]
    shown = first_that_fit(said, _LINES, "line")[:most]
    return [{"type": "section", "text": {"type": "mrkdwn", "text": line}} for line in shown]
