from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.database.database import Database
from bot.people.people import Person
from bot.training.runs.listing import Listing, listing
from bot.training.tables import Run, RunPhase
from tests.moments import off_the_minute

NOON = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def add_run(session: Session, name: str, **also: Any) -> None:
    run: dict[str, Any] = {
        "workspace_id": "T0QM", "team": "team-a", "name": name, "number": 1, "person": "U0ALICE",
        "channel": "C0TEAMA", "cluster": "default", "namespace": "team-a", "queue": "team-a",
        "job_name": name, "spec": {"gpus": 2}, "asked_at": NOON, "since": NOON,
    }  # fmt: skip
    session.add(Run(**{**run, **also}))
    session.flush()


def ended(minutes: int, phase: RunPhase = RunPhase.SUCCEEDED) -> dict[str, Any]:
    return {"phase": phase, "ended_at": NOON + timedelta(minutes=minutes)}


def add_person(session: Session, user: str, name: str, refreshed_at: datetime | None) -> None:
    person = Person(workspace_id="T0QM", user_id=user, name=name, refreshed_at=refreshed_at)
    session.add(person)


def listed(database: Database) -> Listing:
    return database.read(lambda session: listing(session, "team-a"))


def test_live_runs_come_before_those_that_ended(database: Database) -> None:
    def work(session: Session) -> None:
        add_run(session, "older", **ended(1))
        add_run(session, "lane")
        add_run(session, "newer", **ended(2, RunPhase.FAILED))
        add_run(session, "eval", number=2, place=3, phase=RunPhase.PENDING)
        add_run(session, "elsewhere", team="team-b")

    database.transaction(work)
    found = listed(database)
    assert [run.reference for run in found.runs] == ["lane", "eval#2", "newer", "older"]
    assert [run.place for run in found.runs] == [None, 3, None, None]
    assert [run.ended_at for run in found.runs[2:]] == [
        NOON + timedelta(minutes=2), NOON + timedelta(minutes=1),
    ]  # fmt: skip
    assert {(run.gpus, run.asked_at) for run in found.runs} == {("2", NOON)}
    assert found.left_out == 0


def test_gpus_are_those_of_all_nodes(database: Database) -> None:
    spec = {"gpus": 8, "nodes": 2}
    database.transaction(lambda session: add_run(session, "lane", spec=spec))
    assert [run.all_gpus for run in listed(database).runs] == ["16"]


def test_owners_are_named_as_slack_calls_them(database: Database) -> None:
    def work(session: Session) -> None:
        add_person(session, "U0ALICE", "Alice", NOON)
        add_person(session, "U0ERIN", "Erin", None)
        add_person(session, "U0CAROL", "", NOON)
        for person in ("U0ALICE", "U0ERIN", "U0CAROL", "U0BOB"):
            add_run(session, person.lower(), person=person)

    database.transaction(work)
    owners = [run.owner for run in listed(database).runs]
    assert owners == ["Alice", "U0ERIN", "U0CAROL", "U0BOB"]


def test_only_the_newest_runs_are_listed(database: Database) -> None:
    def work(session: Session) -> None:
        for number in range(42):
            add_run(session, f"live{number}")
        for number in range(12):
            add_run(session, f"ended{number}", **ended(number))

    database.transaction(work)
    found = listed(database)
    names = [f"live{n}" for n in range(2, 42)] + [f"ended{n}" for n in range(11, 1, -1)]
    assert [run.name for run in found.runs] == names
    assert found.left_out == 2


def test_a_team_without_runs_has_an_empty_list(database: Database) -> None:
    assert listed(database) == Listing(())
