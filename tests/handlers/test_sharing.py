"""Answers that others should see, too, have a button that posts them in the channel."""

import pytest

from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.handlers.command_client import ALICE, BOB, MIA, TEAM_A, TEAM_B, CommandClient
from tests.handlers.test_shared_channels import REFUSED, share

SUBMIT = "/train submit lane --gpus 1 --image ghcr.io/acme/train:7 -- python train.py"


def answer(client: CommandClient, text: str, channel: str = TEAM_A) -> Reply:
    """What Alice's command is answered with."""
    name, _, words = text.removeprefix("/").partition(" ")
    reply = client.application.dispatcher.answer(
        client.incoming(ALICE, channel, command=name, words=words)
    )
    assert reply is not None
    return reply


def clicked(
    client: CommandClient, asked: Reply, person: str = ALICE, channel: str = TEAM_A
) -> Reply:
    """What the click on the last button of an answer is answered with."""
    button = asked.buttons[-1]
    assert button.label == "Share"
    reply = client.application.dispatcher.answer(
        client.incoming(person, channel, kind="button", command=button.action, value=button.value)
    )
    assert reply is not None
    return reply


@pytest.mark.parametrize(
    "command", ["/train why lane", "/train compare lane other", "/quota status", "/gpu report"]
)
def test_a_shared_answer_is_for_everyone(client: CommandClient, command: str) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(ALICE, TEAM_A, SUBMIT.replace("lane", "other"))
    alone = answer(client, command)
    assert not alone.for_all
    shown = clicked(client, alone)
    assert shown.for_all
    assert shown.buttons == ()
    first, *rest = as_text(shown).splitlines()
    assert first == "Shared by Alice."
    assert rest == as_text(alone).replace("  [Share]", "").splitlines()


def test_what_is_shared_is_as_of_now(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    alone = answer(client, "/train why lane")
    client.says(ALICE, TEAM_A, "/train stop lane")
    assert "Stopping" in as_text(clicked(client, alone))


def test_answers_for_oneself_are_not_offered(client: CommandClient) -> None:
    assert answer(client, "/train list").buttons == ()
    assert answer(client, "/quota status", "D0ALICE").buttons == ()
    assert answer(client, "/train why gone").buttons == ()
    assert answer(client, "/gpu report --csv").buttons == ()


def test_only_what_may_be_shared_is(client: CommandClient) -> None:
    offered = answer(client, "/quota status").buttons[-1]
    listed = offered.value.replace('"words":"status"', '"words":"list"')
    forged = listed.replace('"command":"quota"', '"command":"train"')
    assert client.clicks(ALICE, TEAM_A, "share", forged).splitlines() == [
        "This answer cannot be shared.",
        "Copy what others should know.",
    ]


def test_rights_are_checked_where_it_is_clicked(client: CommandClient) -> None:
    asked = answer(client, "/quota status")
    assert as_text(clicked(client, asked, MIA)).splitlines()[0] == (
        "This question is for @U0ALICE."
    )
    refused = as_text(clicked(client, asked, channel=TEAM_B)).splitlines()[0]
    assert refused == "You are not a member of team-b."
    assert not clicked(client, asked, BOB).for_all


def test_another_company_is_shown_nothing(client: CommandClient) -> None:
    asked = answer(client, "/quota status")
    share(client)
    assert as_text(clicked(client, asked)) == REFUSED
