"""/train open and extend as people use them; what lets anybody in is shown to one person."""

from datetime import datetime, timedelta

import pytest
from sqlmodel import Session, col, select

from bot.database import schema
from bot.training.kinds.interactive import service_name
from bot.training.tables import Run, RunPhase
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
)
from tests.handlers.test_train import later, newest
from tests.playground.cluster.served import Served

SUBMIT = "/train submit nb --kind interactive --image quay.io/jupyter/base-notebook:2026-11-17"
TOKEN = "only-for-alice"  # noqa: S105 - opens nothing
PRIVATE = [
    f"nb is a session of @{ALICE}.",
    "How to open it is shown only to its owner, because the address lets anyone in.",
]


@pytest.fixture
def run(client: CommandClient, served: Served) -> Run:
    """Alice's notebook, running, with its Secret in the cluster."""
    client.says(ALICE, TEAM_A, SUBMIT)
    installation = client.application.database.transaction(schema.installation)
    found = newest(client)
    labels = {"quartermaster.dev/run": found.id, "quartermaster.dev/installation": installation}
    secret = {
        "metadata": {"name": service_name(found), "labels": labels},
        "stringData": {"token": TOKEN},
    }
    served.cluster.create("secrets", secret, "team-a")
    client.application.database.transaction(lambda session: _starts(session, client))
    return newest(client)


def _starts(session: Session, client: CommandClient) -> None:
    row = session.scalars(select(Run).order_by(col(Run.id).desc())).first()
    assert row is not None
    row.phase, row.since = RunPhase.RUNNING, client.application.clock.now()
    row.until = row.since + timedelta(hours=8)


def shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def test_its_owner_is_shown_the_way_in(client: CommandClient, run: Run) -> None:
    said = later(client, ALICE, command="train", words="open nb")
    assert said.splitlines() == [
        (
            f"Run `kubectl port-forward -n team-a service/session-{run.job_name} 8888:80` and"
            " leave it running."
        ),
        f"Browser: http://localhost:8888/team-a/{run.job_name}/?token={TOKEN}",
        "Only you can see this. The address lets anyone in, so keep it private.",
    ]
    assert later(client, ALICE, kind="button", command="train.open", value=run.id) == said


@pytest.mark.parametrize("person", [ERIN, CAROL])
def test_leads_and_admins_are_not_let_in(client: CommandClient, run: Run, person: str) -> None:
    assert client.says(person, TEAM_A, "/train open nb").splitlines() == PRIVATE
    assert client.clicks(person, TEAM_A, "train.open", run.id).splitlines() == PRIVATE


def test_people_of_other_teams_are_not_let_in(client: CommandClient, run: Run) -> None:
    not_theirs = (
        "You are not a member of team-a.\n"
        "Ask a platform admin to add you to the team, or use your own team's channel."
    )
    assert client.clicks(BOB, TEAM_A, "train.open", run.id) == not_theirs
    assert client.says(BOB, TEAM_B, "/train open nb").splitlines()[0] == "team-b has no run nb."
    assert client.clicks(BOB, TEAM_B, "train.extend", _later(run, hours=1)) == not_theirs


def test_one_button_extends_once(client: CommandClient, run: Run) -> None:
    assert run.until is not None
    value, wanted = _later(run, hours=1), run.until + timedelta(hours=1)
    answers = {client.clicks(ALICE, TEAM_A, "train.extend", value) for _ in range(2)}
    most = run.since + timedelta(days=1)
    assert answers == {f"`nb` runs until {shown(wanted)}.\nIt can run until {shown(most)} at most."}
    until = newest(client).until
    assert until is not None
    assert int(until.timestamp()) == int(wanted.timestamp())


def test_reminder_extends_where_no_channel_tells(client: CommandClient, run: Run) -> None:
    """As in direct messages to somebody of several teams."""
    value = _later(run, hours=1)
    refused = client.clicks(BOB, ELSEWHERE, "train.extend", value)
    assert refused.splitlines()[0] == "You are not a member of team-a."
    answer = client.clicks(ALICE, ELSEWHERE, "train.extend", value)
    assert answer.startswith("`nb` runs until ")


def test_a_command_extends_and_is_doubted_twice(client: CommandClient, run: Run) -> None:
    assert run.until is not None
    wanted = run.until + timedelta(hours=2)
    said = client.says(ALICE, TEAM_A, "/train extend nb 2h").splitlines()
    assert said[0] == f"`nb` runs until {shown(wanted)}."
    again = client.says(ALICE, TEAM_A, "/train extend nb 2h")
    assert again.startswith("The same command was sent here")
    assert newest(client).until == wanted


def test_leads_extend_what_others_may_not(client: CommandClient, run: Run) -> None:
    assert run.person == ALICE
    assert client.says(ERIN, TEAM_A, "/train extend nb 1h").startswith("`nb` runs until")
    assert client.says(ALICE, TEAM_A, "/train extend nb 30h").splitlines() == [
        "nb may last 1d in total.",
        "`/train extend nb 15h` is the most that is possible.",
    ]


def _later(run: Run, **length: float) -> str:
    """What a button of a reminder says."""
    assert run.until is not None
    return f"{run.id} {int((run.until + timedelta(**length)).timestamp())}"
