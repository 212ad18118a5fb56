"""Every request ends in words: done once, refused with what is right, never left open."""

import json
import time
from dataclasses import replace

import pytest
from sqlmodel import Session, col, func, select

from bot.audit import AuditLine
from bot.commands.repeating import AGAIN
from bot.people.people import Person
from bot.reconcile.due import Due
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from bot.training.tables import Run
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    CommandClient,
    question,
)  # fmt: skip

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"

ALIKE = "The same command was sent here 0 s ago and was accepted: "


def count(client: CommandClient, table: type[Run | AuditLine]) -> int:
    def work(session: Session) -> int:
        return session.scalar(select(func.count()).select_from(table)) or 0

    return client.application.database.read(work)


def test_a_submitted_run_is_kept_with_its_audit(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, SUBMIT).startswith("Submitted run `lane` with 2 GPUs")
    assert (count(client, Run), count(client, AuditLine)) == (1, 1)


def test_a_delivery_that_comes_twice_counts_once(client: CommandClient) -> None:
    first = client.says(ALICE, TEAM_A, SUBMIT, delivery="trigger-1")
    second = client.says(ALICE, TEAM_A, SUBMIT, delivery="trigger-1")
    assert first.startswith("Submitted run ")
    assert second == "This was already received. Nothing was done twice."
    assert (count(client, Run), count(client, AuditLine)) == (1, 1)


def test_the_same_words_again_are_asked_about(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    asked = client.says(ALICE, TEAM_A, SUBMIT)
    assert asked.startswith("The same command was sent here ")
    assert "Do you want to do it again?" in asked
    assert "Yes, do it again" in asked
    assert count(client, Run) == 1


def test_meaning_it_twice_does_it_twice(client: CommandClient) -> None:
    words = SUBMIT.removeprefix("/train ").replace("lane ", "one ", 1)
    client.says(ALICE, TEAM_A, f"/train {words}")
    answer = client.clicks(ALICE, TEAM_A, AGAIN, question(client, f"/train {words}"))
    assert "live runs of a team must have different names" in answer


def test_a_refused_command_may_be_repeated(client: CommandClient) -> None:
    wrong = SUBMIT.replace("--gpus 2", "--gpus 900")
    assert client.says(ALICE, TEAM_A, wrong) == client.says(ALICE, TEAM_A, wrong)
    assert count(client, Run) == 0


def test_somebody_new_is_asked_about_in_slack(client: CommandClient) -> None:
    def rows(session: Session) -> tuple[Person | None, Due | None]:
        person = session.get(Person, ("T0QM", "U0NEW"))
        return person, session.get(Due, ("person", "T0QM:U0NEW"))

    assert client.says("U0NEW", TEAM_A, SUBMIT) == (
        "Checking who you are.\nTry again in a few seconds."
    )
    person, due = client.application.database.read(rows)
    assert person is not None
    assert due is not None
    assert count(client, Run) == 0


@pytest.mark.parametrize(
    ("person", "channel", "words"),
    [
        (DAN, TEAM_A, "Guests and people from other workspaces cannot use Quartermaster."),
        (BOB, TEAM_A, "You are not a member of team-a."),
        (ALICE, ELSEWHERE, "This channel belongs to no team, so this cannot be used here."),
    ],
)
def test_who_may_not_is_told_so(
    client: CommandClient, person: str, channel: str, words: str
) -> None:
    assert client.says(person, channel, SUBMIT).splitlines()[0] == words
    assert count(client, Run) == 0


def test_misspelled_verbs_are_guessed_with_an_example(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/train submti") == (
        "`/train submti` is not a command.\n"
        "Did you mean `/train submit`? For example `/train submit lane"
        " --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
        " -- python train.py --epochs 3`."
    )


def test_everybody_but_guests_gets_help(client: CommandClient) -> None:
    for person, channel in ((ALICE, TEAM_A), (BOB, TEAM_B), (CAROL, TEAM_A)):
        assert "/train submit" in client.says(person, channel, "/train help")
    assert client.says(ALICE, ELSEWHERE, "/train help") == (
        "/train: Training runs: submit, follow, stop and resubmit\n"
        "You cannot use this command in this channel."
        " Use your team's channel, or ask a platform admin for a role."
    )


def test_every_example_of_the_help_runs(client: CommandClient) -> None:
    registry = client.application.registry
    for name, text in registry.examples():
        answer = client.says(CAROL, TEAM_A, f"/{name} {text}")
        assert "is not a command" not in answer
        assert "Something went wrong" not in answer
        assert "For example" not in answer, (name, text, answer)


def test_a_late_request_changes_nothing(client: CommandClient) -> None:
    late = client.incoming(ALICE, TEAM_A, command="train", words=SUBMIT.removeprefix("/train "))
    late = replace(late, received=time.monotonic() - 3)
    assert client.answer(late) == "This took too long.\nNothing was done. Try again in a moment."
    assert count(client, Run) == 0


def test_no_secret_reaches_rows_or_audit(client: CommandClient) -> None:
    answer = client.says(
        ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--env WANDB_API_KEY=s3cr3tvalue --gpus 2")
    )
    assert "s3cr3tvalue" not in answer
    assert "--secret WANDB_API_KEY=" in answer
    client.says(ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--env MODE=fast --gpus 2"))

    def facts(session: Session) -> list[dict[str, str]]:
        return list(session.scalars(select(col(AuditLine.facts))))

    assert "fast" not in json.dumps(client.application.database.read(facts))


def asked(client: CommandClient, person: str, text: str, **how: str) -> Incoming:
    name, _, words = text.removeprefix("/").partition(" ")
    channel = TEAM_B if person == BOB else TEAM_A
    return client.incoming(person, channel, command=name, words=words, **how)


def recorded(name: str, team: str) -> str:
    memory = "144Gi memory (including 16Gi of /dev/shm)"
    return f"Submitted run `{name}` with 2 GPUs, 16 cores and {memory}, for {team}."


def told(client: CommandClient, *incomings: Incoming) -> list[str]:
    """The first line of each answer."""
    replies = map(client.application.dispatcher.answer, incomings)
    return [as_text(reply).splitlines()[0] if reply else "" for reply in replies]


def test_those_who_ask_at_once_are_each_answered(client: CommandClient) -> None:
    assert told(
        client,
        asked(client, ALICE, SUBMIT, delivery="first"),
        asked(client, ALICE, SUBMIT, delivery="first"),
        asked(client, ALICE, SUBMIT),
        asked(client, ALICE, SUBMIT.replace("--gpus 2", "--gpus 900")),
        asked(client, DAN, SUBMIT),
        asked(client, BOB, SUBMIT),
        asked(client, "U0NEW", SUBMIT),
    ) == [
        recorded("lane", "team-a"),
        "This was already received. Nothing was done twice.",
        f"{ALIKE}`{SUBMIT.removeprefix('/train ')}`",
        "900 GPUs exceed the limit of team-a for one run: 64.",
        "Guests and people from other workspaces cannot use Quartermaster.",
        recorded("lane", "team-b"),
        "Checking who you are.",
    ]
    assert (count(client, Run), count(client, AuditLine)) == (2, 2)


def test_a_question_is_answered_in_its_turn(client: CommandClient) -> None:
    assert told(
        client,
        asked(client, ALICE, SUBMIT),
        asked(client, ALICE, "/train show lane"),
        asked(client, ALICE, "/train stop lane"),
        asked(client, ALICE, "/train submti"),
        asked(client, ALICE, "/train show lane"),
    ) == [
        recorded("lane", "team-a"),
        "⏳ lane · Pending",
        "Stopping `lane`. Its last lines are kept. `/train resubmit lane` starts it again.",
        "`/train submti` is not a command.",
        "⏳ lane · Stopping",
    ]


def test_a_late_request_holds_up_nobody(client: CommandClient) -> None:
    late = replace(asked(client, ALICE, SUBMIT), received=time.monotonic() - 3)
    assert told(client, late, asked(client, BOB, SUBMIT)) == [
        "This took too long.",
        recorded("lane", "team-b"),
    ]
    assert count(client, Run) == 1
