"""/dataset version --from: what is incomplete is refused with an example, the rest is started."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.datasets.tables import Version
from tests.handlers.command_client import ALICE, BOB, TEAM_A, TEAM_B, CommandClient, opened
from tests.handlers.test_dataset import ADD, SETTINGS, recorded
from tests.playground.cluster.served import Served

SELECT = "/dataset version chest-xray --from v1"
EXAMPLE = "For example `/dataset version chest-xray --from v3 --path train/ --name train-only`."


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        opened_client.says(ALICE, TEAM_A, f"{ADD} --readers team-b")
        opened_client.says(ALICE, TEAM_A, "/dataset version chest-xray")
        recorded(opened_client)
        yield opened_client


def test_selection_is_started_as_it_is_typed(client: CommandClient) -> None:
    typed = f"{SELECT} --path 'a b/*' --labels t.csv --label 'kind = x, y' --name some --note try"
    assert client.says(ALICE, TEAM_A, typed) == (
        "Recording `chest-xray@some`. The manifest is read, not the objects.\n"
        "Its card in this channel shows the progress."
    )
    row = client.application.database.read(
        lambda s: s.exec(select(Version).where(Version.name == "some")).one()
    )
    assert (row.selection, row.note) == (
        {"of": "v1", "paths": ["a b/*"], "labels": "t.csv", "where": ["kind=x,y"]},
        "try",
    )


@pytest.mark.parametrize(
    ("typed", "refusal", "hint"),
    [
        (
            "/dataset version chest-xray --path train/ --name some",
            "Name the version to select files of with --from.",
            EXAMPLE,
        ),
        (
            f"{SELECT} --name some",
            "Name the files of chest-xray@v1 with --path, or with --label.",
            EXAMPLE,
        ),
        (f"{SELECT} --path train/", "Name the selection with --name.", EXAMPLE),
        (
            f"{SELECT} --path train/ --labels labels.csv --name some",
            "--label selects by a file of the version, which --labels names; use both.",
            (
                "For example `/dataset version chest-xray --from v3 --labels labels.csv --label"
                " split=train --name train-only`."
            ),
        ),
        (
            f"{SELECT} --path train/ --name some --copy",
            "--copy cannot be used with --from.",
            "The selection shares the copy of chest-xray@v1, if that has one.",
        ),
        (
            "/dataset version chest-xray --from v2 --path train/ --name some",
            "chest-xray has no version v2.",
            "Available: v1.",
        ),
        (
            f"{SELECT} --path train/ --name v1",
            "chest-xray already has a version v1, and a named version never changes.",
            "Choose another name. v2 is free.",
        ),
    ],
)
def test_incomplete_selections_are_refused(
    client: CommandClient, typed: str, refusal: str, hint: str
) -> None:
    assert client.says(ALICE, TEAM_A, typed).splitlines() == [refusal, hint]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--path", "/train/*"),
        ("--path", "train//a"),
        ("--path", "../a"),
        ("--labels", "labels.parquet"),
        ("--label", "train"),
        ("--label", "split=train,"),
        ("--label", "=train"),
    ],
)
def test_misspelled_criteria_are_refused(client: CommandClient, option: str, value: str) -> None:
    said = client.says(ALICE, TEAM_A, f"{SELECT} {option} {value} --name some")
    assert said.startswith(f"`{option}` takes ")
    assert f", not `{value}`." in said


def test_teams_that_only_read_cannot_select(client: CommandClient) -> None:
    said = client.says(BOB, TEAM_B, f"{SELECT} --path train/ --name some")
    assert said.splitlines()[0] == (
        "chest-xray belongs to team-a; only that team can record versions of it."
    )


def test_selection_typed_twice_is_one(client: CommandClient) -> None:
    typed = f"{SELECT} --path train/ --name some"
    client.says(ALICE, TEAM_A, typed)
    client.says(ALICE, TEAM_A, typed)
    found = client.application.database.read(
        lambda s: s.exec(select(Version).where(Version.name == "some")).all()
    )
    assert len(found) == 1
