"""A form of any verb is a view that Slack takes, and what people fill in comes back."""

import pytest

from bot.slack.forms.form import Form, FormPlace, Option, place_of
from bot.slack.forms.view import filled, options_of, view_of
from bot.slack.grammar.declarations import Command, Verb
from bot.slack.grammar.filling import FormFacts, fields_of
from handlers.declared import COMMANDS
from handlers.options import OPTIONS
from playground.slack.limits import checked_view

FACTS = FormFacts(applying={"nodes", "team"}, searched=OPTIONS, defaults={"team": "team-a"})
VERBS = [(command, verb) for command in COMMANDS for verb in command.verbs.values()]


def form_of(command: Command, verb: Verb) -> Form:
    place = FormPlace(command.name, verb.name, "C0TEAMA", "17.1")
    title = f"/{command.name} {verb.name}"
    return Form(title, "Send", place, fields_of(verb, FACTS))


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
        "preset": {"value": {"type": "external_select", "selected_option": None}},
        "pvc": {
            "value": {
                "type": "multi_external_select",
                "selected_options": [{"value": "data:/data"}, {"value": "out:/out"}],
            }
        },
    }
    assert filled({"state": {"values": values}}) == {
        "name": "lane", "kind": "mpi", "privileged": "yes", "image": "", "preset": "",
        "pvc": "data:/data\nout:/out",
    }  # fmt: skip


def test_options_too_long_for_slack_are_left_out() -> None:
    options = [Option("v" * 151), Option("v" * 150, "t" * 80), Option("data")]
    found = options_of(options)
    assert [(each["value"], len(each["text"]["text"])) for each in found] == [
        ("v" * 150, 75),
        ("data", 4),
    ]


def test_no_more_options_than_slack_takes() -> None:
    assert len(options_of([Option(f"run-{number}") for number in range(150)])) == 100
