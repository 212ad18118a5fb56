"""/snapshot schedule as people type it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.snapshots.tables import SnapshotSchedule
from playground.cluster.story import snapshot_class
from tests.handlers.command_client import ALICE, BOB, ERIN, TEAM_A, TEAM_B, CommandClient, opened
from tests.handlers.test_snapshot import STRANGE
from tests.playground.cluster.served import Served


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def test_schedules_are_made_listed_and_ended(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, '/snapshot schedule imagenet "0 2 * * *" --keep 7d --max 14')
    lines = said.splitlines()
    assert lines[0].startswith("Snapshots of `imagenet` are taken at `0 2 * * *` in UTC: next ")
    assert lines[1:] == [
        (
            "Kept: 7d, at most 14. The newest ready snapshot, and those that are pinned or in"
            " use, always stay."
        ),
        (
            f"Its card in #{TEAM_A} shows all of them. `/snapshot unschedule imagenet` stops the"
            " schedule."
        ),
    ]
    assert client.says(BOB, TEAM_B, "/snapshot schedules").splitlines()[1] == (
        'team-b has no snapshot schedules. To create one: `/snapshot schedule results "0 2 * *'
        ' *" --keep 7d`'
    )
    assert "imagenet  0 2 * * *  UTC" in client.says(ALICE, TEAM_A, "/snapshot schedules")
    assert client.says(ALICE, TEAM_A, "/snapshot unschedule models").splitlines() == [
        "PVC models has no snapshot schedule.",
        "PVCs with a schedule: imagenet.",
    ]
    elsewhere = client.says(ALICE, TEAM_A, "/snapshot unschedule imagenet --cluster moon")
    assert elsewhere.splitlines() == ["team-a has no cluster moon.", "It has: default."]
    assert client.says(ERIN, TEAM_A, "/snapshot unschedule imagenet").splitlines() == [
        "No more snapshots of `imagenet` are taken on a schedule.",
        (
            "Existing snapshots stay until they expire or are deleted. `/snapshot schedule"
            ' imagenet "0 2 * * *"` starts the schedule again.'
        ),
    ]


def test_schedules_without_quotes_are_explained(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, "/snapshot schedule imagenet 0 2 * * *").splitlines()
    assert said[0] == "`schedule` takes no argument `2 * * *`."
    assert said[1].endswith('`/snapshot schedule imagenet "0 2 * * *" --keep 7d --max 14`.')


def test_the_card_stops_a_schedule(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, '/snapshot schedule imagenet "30 4 * * mon"')
    (row,) = client.application.database.read(lambda s: list(s.exec(select(SnapshotSchedule))))
    assert row.most == 14
    assert client.clicks(BOB, TEAM_B, "snapshot.unschedule", row.id) == STRANGE
    said = client.clicks(ALICE, TEAM_A, "snapshot.unschedule", row.id)
    assert said.splitlines()[0] == "No more snapshots of `imagenet` are taken on a schedule."
    assert client.clicks(ALICE, TEAM_A, "snapshot.unschedule", row.id) == (
        "The schedule of imagenet has already stopped."
    )
