"""What the agent view suggests to each person, all of it commands that work for them."""

from dataclasses import replace

import pytest

from bot.slack.card import Prompt
from tests.handlers.command_client import ALICE, CAROL, DAN, ERIN, CommandClient

HELP = Prompt("What can I do here?", "help")
OF_TEAMS = (
    Prompt("Show my team's runs", "train list"),
    Prompt("Show my team's GPU quota", "quota status"),
    Prompt("Show how busy the GPUs are", "gpu status"),
    HELP,
)
OF_OTHERS = (HELP, Prompt("Who am I here?", "qm whoami"))


def suggested(client: CommandClient, person: str) -> tuple[Prompt, ...]:
    opening = client.incoming(person, f"D{person[1:]}")
    reply = client.application.dispatcher.answer(replace(opening, kind="opened"))
    return reply.prompts if reply else ()


@pytest.mark.parametrize(
    ("person", "prompts"),
    [(ALICE, OF_TEAMS), (ERIN, OF_TEAMS), (CAROL, OF_OTHERS), (DAN, ()), ("U0NEW", ())],
)
def test_prompts_suit_the_person(
    client: CommandClient, person: str, prompts: tuple[Prompt, ...]
) -> None:
    assert suggested(client, person) == prompts


@pytest.mark.parametrize("person", [ALICE, CAROL])
def test_every_prompt_is_a_working_command(client: CommandClient, person: str) -> None:
    for prompt in suggested(client, person):
        said = client.incoming(person, f"D{person[1:]}", words=prompt.message)
        said = replace(said, kind="mention", thread_ts="1.000001")
        reply = client.application.dispatcher.answer(said)
        assert reply is not None
        assert not reply.is_refusal
        assert reply.lines or reply.card
