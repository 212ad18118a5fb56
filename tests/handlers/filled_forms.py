"""Opens, changes and sends the forms of commands, as people do."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from bot.slack.card import Reply
from bot.slack.forms.form import Form
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, TEAM_A, CommandClient


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


def used(
    client: CommandClient,
    form: Form,
    kind: Literal["form-change", "options"],
    person: str = ALICE,
    **how: Any,
) -> Reply:
    """What the bot answers to a change of the form, or to a search in one of its fields."""
    place = form.place
    incoming = client.incoming(person, place.channel, command=place.command, words=place.verb)
    return answer(client, replace(incoming, kind=kind, **how))


def foreseen(form: Form) -> list[str]:
    """What the form says would happen."""
    return as_text(Reply(tuple(form.foreseen))).splitlines()
