"""Whoever has left a team acts for it no more: not by words, clicks, questions or later acts."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session, col, select

from bot.commands.repeating import AGAIN
from bot.quotas.tables import Override
from bot.training.tables import Run, RunPhase
from tests.handlers.command_client import (
    ALICE,
    CAROL,
    ERIN,
    TEAM_A,
    CommandClient,
    opened,
    question,
)
from tests.handlers.test_train import newest, work
from tests.handlers.test_train_scaling import SUBMIT as WIDE
from tests.playground.cluster.served import Served

NOTEBOOK = "/train submit nb --kind interactive --image quay.io/jupyter/base-notebook:2026-11-17"
REFUSED = (
    "You are not a member of team-a.\n"
    "Ask a platform admin to add you to the team, or use your own team's channel."
)
MEMBERS = "members: {people: [U0ALICE, U0MIA]}"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def leaves(client: CommandClient, folder: Path, *more: tuple[str, str]) -> None:
    """Alice is in no team any more."""
    path = folder / "quartermaster.yaml"
    text = path.read_text()
    for old, new in ((MEMBERS, "members: {people: [U0MIA]}"), *more):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    client.application.settings.refresh()


def session_runs(client: CommandClient) -> Run:
    """Alice's notebook, which runs and lasts eight hours."""
    client.says(ALICE, TEAM_A, NOTEBOOK)

    def begin(session: Session) -> None:
        row = session.scalars(select(Run).order_by(col(Run.id).desc())).one()
        row.phase, row.since = RunPhase.RUNNING, client.application.clock.now()
        row.until = row.since + timedelta(hours=8)

    client.application.database.transaction(begin)
    return newest(client)


@pytest.mark.parametrize("place", [TEAM_A, "D0ALICE", "C0RANDOM"])
def test_buttons_refuse_who_has_left(client: CommandClient, tmp_path: Path, place: str) -> None:
    run = session_runs(client)
    assert run.until is not None
    later = f"{run.id} {int((run.until + timedelta(hours=1)).timestamp())}"
    leaves(client, tmp_path)
    for action, value in (
        ("train.extend", later),
        ("train.keep", run.id),
        ("gpu.snooze", run.id),
        ("train.stop", run.id),
    ):
        assert client.clicks(ALICE, place, action, value) == REFUSED
    assert (newest(client).until, newest(client).wanted) == (run.until, run.wanted)


def test_leads_act_on_runs_of_former_members(client: CommandClient, tmp_path: Path) -> None:
    run = session_runs(client)
    leaves(client, tmp_path)
    assert client.clicks(ERIN, TEAM_A, "train.keep", run.id).startswith("Keeping `nb`, idle or not")
    assert client.clicks(ERIN, TEAM_A, "train.stop", run.id).startswith("Stopping `nb`")


@pytest.mark.parametrize("place", [TEAM_A, "D0ALICE"])
def test_commands_refuse_who_has_left(client: CommandClient, tmp_path: Path, place: str) -> None:
    session_runs(client)
    leaves(client, tmp_path)
    for text in ("stop nb", "extend nb 1h", "open nb", "show nb"):
        assert client.says(ALICE, place, f"/train {text} --team team-a") == REFUSED


def test_a_question_is_void_for_who_has_left(client: CommandClient, tmp_path: Path) -> None:
    client.says(ALICE, TEAM_A, NOTEBOOK)
    value = question(client, NOTEBOOK)
    leaves(client, tmp_path)
    assert client.clicks(ALICE, TEAM_A, AGAIN, value) == REFUSED


def test_runs_start_again_for_members_only(client: CommandClient, tmp_path: Path) -> None:
    """Whoever asked for that may have left before the run had ended."""
    client.says(ALICE, TEAM_A, WIDE)
    run = newest(client)
    assert client.clicks(ALICE, TEAM_A, "train.requeue", f"{run.id} 1").startswith(
        "Stopping `wide`"
    )
    leaves(client, tmp_path)
    work(client)
    assert newest(client).id == run.id
    assert newest(client).ended_at is not None


def test_requests_are_taken_back_by_members_only(client: CommandClient, tmp_path: Path) -> None:
    """An approver may look at the quota of every team, but acts for none."""
    client.says(ALICE, TEAM_A, "/quota request +2 --for 1d --reason deadline")
    leaves(
        client,
        tmp_path,
        ("quota_override: {approvers: {people: [U0CAROL]}}",
         "quota_override: {approvers: {people: [U0CAROL, U0ALICE]}}"),
    )  # fmt: skip
    said = client.says(ALICE, "D0ALICE", "/quota revoke --team team-a")
    assert said.splitlines()[1] == "They, a lead of the team or a platform admin can revoke it."
    row = client.application.database.read(lambda s: s.scalars(select(Override)).one())
    assert row.revoked_at is None
    assert "Revoked: " in client.says(CAROL, TEAM_A, "/quota revoke")
