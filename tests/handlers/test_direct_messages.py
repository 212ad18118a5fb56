"""In direct messages the person's only team is meant, and people of several teams choose one."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from bot.slack.card import Reply
from bot.slack.forms.form import Field
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from tests.handlers.command_client import (
    ALICE,
    BOB,
    SETTINGS,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

DIRECT = "D0ALICE"
SUBMIT = "submit lane --gpus 1 --image ghcr.io/acme/train:7 -- python train.py --team=red"


@pytest.fixture
def client(tmp_path: Path, database_url: str, served: Served) -> Iterator[CommandClient]:
    """Alice is in both teams."""
    both = SETTINGS.replace("leads: {people: [U0BOB]}", "leads: {people: [U0BOB, U0ALICE]}")
    with opened(tmp_path, database_url, served, base=both) as opened_client:
        yield opened_client


def answered(client: CommandClient, incoming: Incoming) -> Reply:
    reply = client.application.dispatcher.answer(incoming)
    assert reply is not None
    return reply


def chosen(client: CommandClient, question: Reply, number: int, person: str = ALICE) -> str:
    """What the click on one of the question's buttons answers."""
    button = question.buttons[number]
    return client.clicks(person, DIRECT, f"{button.action}:{number + 1}", button.value)


def test_one_team_needs_no_name(client: CommandClient) -> None:
    assert client.says(BOB, "D0BOB", "/train list").splitlines()[0] == "Runs of team-b"


def form_of(client: CommandClient, **how: Any) -> dict[str, Field]:
    """The fields of the form of /train stop in Alice's direct messages."""
    incoming = client.incoming(ALICE, DIRECT, command="train", words="stop")
    form = answered(client, replace(incoming, **how)).form
    assert form is not None
    return {each.name: each for each in form.fields}


def test_a_form_asks_for_the_team(client: CommandClient) -> None:
    client.says(BOB, "D0BOB", f"/train {SUBMIT}")
    team = form_of(client)["team"]
    assert (team.is_optional, team.is_watched, team.initial) == (False, True, "")
    options = replace(client.incoming(ALICE, DIRECT, command="train", words="stop"), kind="options")
    found = answered(client, replace(options, field_name="team"))
    assert [each.value for each in found.options] == ["team-a", "team-b"]
    of_team = replace(options, field_name="run", fields={"team": "team-b"})
    assert [each.value for each in answered(client, of_team).options] == ["lane"]
    assert form_of(client, kind="form-change", fields={"team": "team-b"})["team"].initial == (
        "team-b"
    )


@pytest.mark.parametrize("kind", ["command", "mention"])
def test_several_teams_are_a_choice(
    client: CommandClient, kind: Literal["command", "mention"]
) -> None:
    words = SUBMIT if kind == "command" else f"train {SUBMIT}"
    typed = client.incoming(ALICE, DIRECT, command="train", words=words)
    question = answered(client, replace(typed, kind=kind))
    assert as_text(question).splitlines() == ["Which team is this for?", "  [team-a] [team-b]"]
    said = chosen(client, question, 1)
    assert said.startswith("Submitted run `lane` with 1 GPU")
    assert ", for team-b." in said.splitlines()[0]
    # One question has one effect.
    assert chosen(client, question, 0).splitlines() == [
        "This was already received. Nothing was done twice."
    ]
    assert "lane" in client.says(ALICE, DIRECT, "/train show lane --team team-b")


@pytest.mark.parametrize(
    ("kind", "command", "words"),
    [
        ("command", "train", "list"),
        ("command", "qm", "train list"),
        ("mention", "", "train list"),
        ("command", "qm", "audit"),
    ],
)
def test_the_choice_works_however_it_was_typed(
    client: CommandClient, kind: str, command: str, words: str
) -> None:
    typed = client.incoming(ALICE, DIRECT, command=command, words=words)
    if kind == "mention":
        typed = replace(typed, kind="mention")
    title = "Audit log of team-b, the last 7d" if words == "audit" else "Runs of team-b"
    assert chosen(client, answered(client, typed), 1).splitlines()[0] == title


def test_a_programs_words_stay_as_they_are(client: CommandClient) -> None:
    words = "submit two --gpus 1 --image lane:1 -- sh -c 'cat &lt; in &gt; out'"
    question = answered(client, client.incoming(ALICE, DIRECT, command="train", words=words))
    assert chosen(client, question, 1).startswith("Submitted run `two`")
    shown = client.says(ALICE, DIRECT, "/train show two --team team-b")
    assert "`sh -c 'cat < in > out'`" in shown


def test_another_person_cannot_choose(client: CommandClient) -> None:
    question = answered(client, client.incoming(ALICE, DIRECT, command="train", words="list"))
    assert chosen(client, question, 1, BOB).splitlines() == [
        "This question is for @U0ALICE.",
        "Send the command yourself.",
    ]
