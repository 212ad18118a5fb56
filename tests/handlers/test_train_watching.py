"""/train watch and unwatch, and who they are for."""

from sqlmodel import Session, col, select

from bot.training.tables import Run, RunPhase, RunWatch
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ERIN,
    MIA,
    TEAM_A,
    TEAM_B,
    CommandClient,
)

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"
WATCHING = (
    "Watching `lane`. You get a direct message when it starts after waiting for 30m or longer, when"
    " 80 % of its time limit has passed, when it is preempted, when its GPUs are idle, and when it"
    " ends.\n  [Stop watching]"
)


def watchers(client: CommandClient) -> list[str]:
    people = select(col(RunWatch.person)).order_by(col(RunWatch.person))
    return client.application.database.read(lambda session: list(session.scalars(people)))


def test_people_of_the_team_watch_a_run(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert client.says(MIA, TEAM_A, "/train watch lane") == WATCHING
    assert client.says(ERIN, "D0ERIN", "/train watch lane") == WATCHING
    assert client.says(CAROL, "D0CAROL", "/train watch lane --team team-a") == WATCHING
    assert watchers(client) == [CAROL, ERIN, MIA]


def test_a_second_watch_changes_nothing(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(MIA, TEAM_A, "/train watch lane")
    assert client.says(MIA, TEAM_A, "/train watch lane") == (
        "You already watch `lane`.\n  [Stop watching]"
    )
    assert watchers(client) == [MIA]


def test_a_watch_ends_by_word_or_click(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(MIA, TEAM_A, "/train watch lane")
    client.says(ERIN, TEAM_A, "/train watch lane")
    assert client.says(MIA, TEAM_A, "/train unwatch lane") == "You no longer watch `lane`."
    assert client.says(MIA, TEAM_A, "/train unwatch lane") == "You do not watch `lane`."
    assert watchers(client) == [ERIN]
    run_id = client.application.database.read(lambda s: s.scalars(select(col(Run.id))).one())
    said = client.clicks(ERIN, "D0ERIN", "train.unwatch", run_id)
    assert (said, watchers(client)) == ("You no longer watch `lane`.", [])


def test_owners_are_told_already(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert client.says(ALICE, TEAM_A, "/train watch lane") == (
        "lane is your own run, so you are notified of it already.\n`/notices show` shows how."
    )
    assert watchers(client) == []


def test_others_may_not_watch(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    for person, place in ((BOB, TEAM_A), (BOB, "D0BOB"), (BOB, TEAM_B), (DAN, TEAM_A)):
        said = client.says(person, place, "/train watch lane --team team-a")
        assert said.startswith(("You are not a member of team-a.", "Guests and people from other"))
    assert watchers(client) == []


def test_only_live_runs_are_watched(client: CommandClient) -> None:
    assert client.says(MIA, TEAM_A, "/train watch lane").startswith("team-a has no run lane.")
    client.says(ALICE, TEAM_A, SUBMIT)

    def end(session: Session) -> None:
        run = session.scalars(select(Run)).one()
        run.phase, run.ended_at = RunPhase.SUCCEEDED, client.application.clock.now()

    client.application.database.transaction(end)
    assert client.says(MIA, TEAM_A, "/train watch lane") == (
        "lane has ended, so there is nothing left to watch.\n`/train show lane` shows how it ended."
    )
