"""A form of any verb is a view that Slack takes, and what people fill in comes back."""

import pytest

from bot.slack.forms.form import Form, FormPlace, place_of
from bot.slack.forms.view import filled, view_of
from bot.slack.grammar.declarations import Command, Verb
from bot.slack.grammar.filling import fields_of
from handlers.declared import COMMANDS
from playground.slack.limits import checked_view

VERBS = [(command, verb) for command in COMMANDS for verb in command.verbs.values()]


def form_of(command: Command, verb: Verb) -> Form:
    place = FormPlace(command.name, verb.name, "C0TEAMA", "17.1")
    title = f"/{command.name} {verb.name}"
    return Form(title, "Send", place, fields_of(verb, {}, {"team": "team-a"}))


@pytest.mark.parametrize(("command", "verb"), VERBS, ids=lambda each: each.name)
def test_slack_takes_the_form_of_every_verb(command: Command, verb: Verb) -> None:
    form = form_of(command, verb)
    if form.fields:
        checked_view(view_of(form))


def test_the_place_comes_back_and_nothing_else() -> None:
    (command, verb) = VERBS[0]
    form = form_of(command, verb)
    assert place_of(view_of(form)["private_metadata"]) == form.place
    assert place_of("{}") is None
    assert place_of("") is None


def test_filled_fields_are_read_one_by_one() -> None:
    values = {
        "name": {"value": {"type": "plain_text_input", "value": "lane"}},
        "kind": {"value": {"type": "static_select", "selected_option": {"value": "mpi"}}},
        "privileged": {"value": {"type": "checkboxes", "selected_options": [{"value": "yes"}]}},
        "image": {"value": {"type": "plain_text_input", "value": None}},
    }
    assert filled({"state": {"values": values}}) == {
        "name": "lane", "kind": "mpi", "privileged": "yes", "image": "",
    }  # fmt: skip
