"""A command that lacks something opens a form, which sends the whole command when it is filled."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from bot.slack.card import Reply
from bot.slack.forms.form import Form
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, BOB, TEAM_A, CommandClient

RUN = {"name": "lane", "image": "ghcr.io/acme/train:7", "gpus": "2"}


def answer(client: CommandClient, incoming: Incoming) -> Reply:
    reply = client.application.dispatcher.answer(incoming)
    assert reply is not None
    return reply


def opened(client: CommandClient, text: str, person: str = ALICE) -> Form:
    """The form that a command opens."""
    name, _, words = text.removeprefix("/").partition(" ")
    form = answer(client, client.incoming(person, TEAM_A, command=name, words=words)).form
    assert form is not None
    return form


def sent(client: CommandClient, form: Form, fields: Mapping[str, str]) -> Reply:
    """What a filled form is answered with."""
    whole = {each.name: each.initial for each in form.fields} | dict(fields)
    place = form.place
    incoming = client.incoming(ALICE, place.channel, command=place.command, words=place.verb)
    return answer(client, replace(incoming, kind="form", fields=whole))


def test_a_command_without_a_name_opens_its_form(client: CommandClient) -> None:
    form = opened(client, "/train submit --gpus 2 --env A=1 -- python train.py --lr '0 1'")
    assert (form.title, form.submit) == ("/train submit", "Submit")
    filled = {each.name: each.initial for each in form.fields if each.initial}
    assert filled == {
        "gpus": "2",
        "command": "python train.py --lr '0 1'",
        "more-options": "--env A=1",
    }


def test_a_filled_form_sends_the_command(client: CommandClient) -> None:
    form = opened(client, "/train submit -- python train.py")
    said = as_text(sent(client, form, RUN | {"more-options": "--env LR=0.1\n--env B=2"}))
    assert said.startswith("Submitted run `lane` with 2 GPUs")
    record = client.says(ALICE, TEAM_A, "/train show lane")
    assert "`python train.py`" in record
    assert "`LR=0.1 B=2`" in record


def test_fields_that_do_not_fit_say_so(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, {"name": "Lane!", "image": "ghcr.io/acme/train:7", "gpus": "many"})
    assert reply.is_refusal
    assert set(reply.errors) == {"name", "gpus"}
    assert reply.errors["name"].startswith("This cannot be Lane!. Write a name of at most 30")


def test_what_the_command_refuses_keeps_the_form(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, RUN | {"more-options": "--colour red"})
    assert reply.is_refusal
    assert "has no option `--colour`" in as_text(reply)


def test_rights_are_checked_before_and_after(client: CommandClient) -> None:
    words = client.incoming(BOB, TEAM_A, command="train", words="submit")
    refused = answer(client, words)
    assert refused.form is None
    assert as_text(refused).splitlines()[0] == "You are not a member of team-a."
    form = opened(client, "/train submit")
    forged = replace(form, place=msgspec.structs.replace(form.place, channel="C0TEAMB"))
    assert as_text(sent(client, forged, RUN)).splitlines()[0] == "You are not a member of team-b."


def test_a_mention_offers_the_form_by_a_button(client: CommandClient) -> None:
    mention = client.incoming(ALICE, TEAM_A, words="train submit --gpus 2", message_ts="1.1")
    reply = answer(client, replace(mention, kind="mention", trigger_id=None))
    (button,) = reply.buttons
    assert button.label == "Open form"
    assert as_text(reply).startswith("`NAME` is missing.")
    click = client.incoming(ALICE, TEAM_A, kind="button", command=button.action, value=button.value)
    form = answer(client, click).form
    assert form is not None
    assert {each.name: each.initial for each in form.fields}["gpus"] == "2"


def test_a_secret_in_a_form_is_refused(client: CommandClient) -> None:
    form = opened(client, "/train submit")
    reply = sent(client, form, RUN | {"more-options": "--env KEY=ghp_" + "a1B2" * 9})
    assert reply.is_refusal
    assert "looks like a secret" in as_text(reply)


@pytest.mark.parametrize(
    "text", ["/quota request", "/dataset add", "/snapshot schedule", "/snapshot clone"]
)
def test_every_verb_that_needs_something_has_one(client: CommandClient, text: str) -> None:
    assert opened(client, text).fields
