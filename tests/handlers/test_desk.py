"""Every request ends in words: done once, refused with what is right, never left open."""

import json
import time
from dataclasses import replace

import pytest
from sqlmodel import Session, col, func, select

from bot.audit import AuditLine
from bot.commands.dispatcher import AGAIN
from bot.people.people import Person
from bot.reconcile.due import Due
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from bot.training.tables import Run
from tests.handlers.office import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    Office,
    question,
)  # fmt: skip

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"

ALIKE = "The same command was sent here 0 s ago and was accepted: "


def count(office: Office, table: type[Run | AuditLine]) -> int:
    def work(session: Session) -> int:
        return session.scalar(select(func.count()).select_from(table)) or 0

    return office.application.database.read(work)


def test_a_submitted_run_is_kept_with_its_audit(office: Office) -> None:
    assert office.says(ALICE, TEAM_A, SUBMIT).startswith("Submitted run `lane` with 2 GPUs")
    assert (count(office, Run), count(office, AuditLine)) == (1, 1)


def test_a_delivery_that_comes_twice_counts_once(office: Office) -> None:
    first = office.says(ALICE, TEAM_A, SUBMIT, delivery="trigger-1")
    second = office.says(ALICE, TEAM_A, SUBMIT, delivery="trigger-1")
    assert first.startswith("Submitted run ")
    assert second == "This was already received. Nothing was done twice."
    assert (count(office, Run), count(office, AuditLine)) == (1, 1)


def test_the_same_words_again_are_asked_about(office: Office) -> None:
    office.says(ALICE, TEAM_A, SUBMIT)
    asked = office.says(ALICE, TEAM_A, SUBMIT)
    assert asked.startswith("The same command was sent here ")
    assert "Do you want to do it again?" in asked
    assert "Yes, do it again" in asked
    assert count(office, Run) == 1


def test_meaning_it_twice_does_it_twice(office: Office) -> None:
    words = SUBMIT.removeprefix("/train ").replace("lane ", "one ", 1)
    office.says(ALICE, TEAM_A, f"/train {words}")
    answer = office.clicks(ALICE, TEAM_A, AGAIN, question(office, f"/train {words}"))
    assert "live runs of a team must have different names" in answer


def test_a_refused_command_may_be_repeated(office: Office) -> None:
    wrong = SUBMIT.replace("--gpus 2", "--gpus 900")
    assert office.says(ALICE, TEAM_A, wrong) == office.says(ALICE, TEAM_A, wrong)
    assert count(office, Run) == 0


def test_somebody_new_is_asked_about_in_slack(office: Office) -> None:
    def rows(session: Session) -> tuple[Person | None, Due | None]:
        person = session.get(Person, ("T0QM", "U0NEW"))
        return person, session.get(Due, ("person", "T0QM:U0NEW"))

    assert office.says("U0NEW", TEAM_A, SUBMIT) == (
        "Checking who you are.\nTry again in a few seconds."
    )
    person, due = office.application.database.read(rows)
    assert person is not None
    assert due is not None
    assert count(office, Run) == 0


@pytest.mark.parametrize(
    ("person", "channel", "words"),
    [
        (DAN, TEAM_A, "Guests and people from other workspaces cannot use Quartermaster."),
        (BOB, TEAM_A, "You are not a member of team-a."),
        (ALICE, ELSEWHERE, "This channel belongs to no team, so this cannot be used here."),
    ],
)
def test_who_may_not_is_told_so(office: Office, person: str, channel: str, words: str) -> None:
    assert office.says(person, channel, SUBMIT).splitlines()[0] == words
    assert count(office, Run) == 0


def test_misspelled_verbs_are_guessed_with_an_example(office: Office) -> None:
    assert office.says(ALICE, TEAM_A, "/train submti") == (
        "`/train submti` is not a command.\n"
        "Did you mean `/train submit`? For example `/train submit lane"
        " --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
        " -- python train.py --epochs 3`."
    )


def test_everybody_but_guests_gets_help(office: Office) -> None:
    for person, channel in ((ALICE, TEAM_A), (BOB, TEAM_B), (CAROL, TEAM_A)):
        assert "/train submit" in office.says(person, channel, "/train help")
    assert office.says(ALICE, ELSEWHERE, "/train help") == (
        "/train: Training runs: submit, follow, stop and resubmit\n"
        "You cannot use this command in this channel."
        " Use your team's channel, or ask a platform admin for a role."
    )


def test_every_example_of_the_help_runs(office: Office) -> None:
    registry = office.application.registry
    for name, text in registry.examples():
        answer = office.says(CAROL, TEAM_A, f"/{name} {text}")
        assert "is not a command" not in answer
        assert "Something went wrong" not in answer
        assert "For example" not in answer, (name, text, answer)


def test_a_late_request_changes_nothing(office: Office) -> None:
    late = office.incoming(ALICE, TEAM_A, command="train", words=SUBMIT.removeprefix("/train "))
    late = replace(late, received=time.monotonic() - 3)
    assert office.answer(late) == "This took too long.\nNothing was done. Try again in a moment."
    assert count(office, Run) == 0


def test_no_secret_reaches_rows_or_audit(office: Office) -> None:
    answer = office.says(
        ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--env WANDB_API_KEY=s3cr3tvalue --gpus 2")
    )
    assert "s3cr3tvalue" not in answer
    assert "--secret WANDB_API_KEY=" in answer
    office.says(ALICE, TEAM_A, SUBMIT.replace("--gpus 2", "--env MODE=fast --gpus 2"))

    def facts(session: Session) -> list[dict[str, str]]:
        return list(session.scalars(select(col(AuditLine.facts))))

    assert "fast" not in json.dumps(office.application.database.read(facts))


def asked(office: Office, person: str, text: str, **how: str) -> Incoming:
    name, _, words = text.removeprefix("/").partition(" ")
    channel = TEAM_B if person == BOB else TEAM_A
    return office.incoming(person, channel, command=name, words=words, **how)


def recorded(name: str, team: str) -> str:
    memory = "144Gi memory (including 16Gi of /dev/shm)"
    return f"Submitted run `{name}` with 2 GPUs, 16 cores and {memory}, for {team}."


def told(office: Office, *incomings: Incoming) -> list[str]:
    """The first line of each answer."""
    replies = map(office.application.desk.answer, incomings)
    return [as_text(reply).splitlines()[0] if reply else "" for reply in replies]


def test_those_who_ask_at_once_are_each_answered(office: Office) -> None:
    assert told(
        office,
        asked(office, ALICE, SUBMIT, delivery="first"),
        asked(office, ALICE, SUBMIT, delivery="first"),
        asked(office, ALICE, SUBMIT),
        asked(office, ALICE, SUBMIT.replace("--gpus 2", "--gpus 900")),
        asked(office, DAN, SUBMIT),
        asked(office, BOB, SUBMIT),
        asked(office, "U0NEW", SUBMIT),
    ) == [
        recorded("lane", "team-a"),
        "This was already received. Nothing was done twice.",
        f"{ALIKE}`{SUBMIT.removeprefix('/train ')}`",
        "900 GPUs exceed the limit of team-a for one run: 64.",
        "Guests and people from other workspaces cannot use Quartermaster.",
        recorded("lane", "team-b"),
        "Checking who you are.",
    ]
    assert (count(office, Run), count(office, AuditLine)) == (2, 2)


def test_a_question_is_answered_in_its_turn(office: Office) -> None:
    assert told(
        office,
        asked(office, ALICE, SUBMIT),
        asked(office, ALICE, "/train show lane"),
        asked(office, ALICE, "/train stop lane"),
        asked(office, ALICE, "/train submti"),
        asked(office, ALICE, "/train show lane"),
    ) == [
        recorded("lane", "team-a"),
        "⏳ lane · Pending",
        "Stopping `lane`. Its last lines are kept. `/train resubmit lane` starts it again.",
        "`/train submti` is not a command.",
        "⏳ lane · Stopping",
    ]


def test_a_late_request_holds_up_nobody(office: Office) -> None:
    late = replace(asked(office, ALICE, SUBMIT), received=time.monotonic() - 3)
    assert told(office, late, asked(office, BOB, SUBMIT)) == [
        "This took too long.",
        recorded("lane", "team-b"),
    ]
    assert count(office, Run) == 1
