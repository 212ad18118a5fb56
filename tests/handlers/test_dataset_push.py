"""/dataset push as people type it; the pushes themselves are tested where they are made."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.cluster.resources import PVCS, VOLUMES, Resource
from bot.datasets.tables import Push
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DATASETS,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

SETTINGS = DATASETS + "  static_drivers: [csi.playground]\n"
ASK = "/dataset push imagenet:/run-7/ s3://lake/run-7"
BEGUN = "Pushing imagenet:/run-7 to s3://lake/run-7/."
WISH = {"c": "imagenet", "p": "/run-7", "u": "s3://lake/run-7/", "t": "team-a"}
STRANGE = (
    "You are not a member of team-a.\n"
    "Ask a platform admin to add you to the team, or use your own team's channel."
)
NO_TARGET = (
    "`URL` takes a bucket and a folder in it such as `s3://lake/results/`, without `.`, `..` or"
    " `//`, not `s3://lake/"
)


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        cluster = opened_client.application.clusters["default"]
        kinds: tuple[Resource[Any], ...] = (PVCS, VOLUMES)
        for resource in kinds:
            cluster.view.store(resource).replace(cluster.list(resource))
        yield opened_client


def pushes(client: CommandClient) -> list[Push]:
    return list(client.application.database.read(lambda s: s.exec(select(Push)).all()))


def test_asking_begins_nothing_and_repeats(client: CommandClient) -> None:
    first = client.says(ALICE, TEAM_A, f"{ASK} --as run-7")
    assert [line.split("  ")[-1].strip() for line in first.splitlines()] == [
        "Push imagenet:/run-7?",
        "Nothing has been copied yet. This is what the push does:",
        "`imagenet:/run-7`",
        "1 TiB on standard; the push first measures the folder",
        "`s3://lake/run-7/`",
        "`lake`",
        "stay; if one has different content, the push fails and names it",
        "version (next free name) of the new dataset run-7",
        "[Push it]",
    ]
    assert (client.says(ALICE, TEAM_A, f"{ASK} --as run-7"), pushes(client)) == (first, [])


def test_the_button_begins_what_was_told(client: CommandClient) -> None:
    told = json.dumps(WISH | {"d": "run-7", "v": "v1", "o": True})
    assert client.clicks(ALICE, TEAM_A, "dataset.push", told).splitlines()[0] == BEGUN
    (push,) = pushes(client)
    assert (push.folder, push.dataset, push.version, push.is_overwriting) == (
        "/run-7", "run-7", "v1", True,
    )  # fmt: skip
    assert client.clicks(ALICE, TEAM_A, "dataset.push_stop", push.id) == (
        "Stopping the push of imagenet:/run-7 to s3://lake/run-7/."
    )


def test_the_button_keeps_the_named_team(client: CommandClient) -> None:
    asked = f"{ASK} --team team-a"
    assert client.says(CAROL, TEAM_B, asked).endswith("[Push it]")
    assert client.clicks(CAROL, TEAM_B, "dataset.push", json.dumps(WISH)).splitlines()[0] == BEGUN
    (push,) = pushes(client)
    assert (push.team, push.claim_namespace, push.channel) == ("team-a", "team-a", TEAM_B)
    assert client.clicks(BOB, TEAM_B, "dataset.push", json.dumps(WISH)) == STRANGE


def test_other_teams_begin_and_stop_nothing(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, f"{ASK} --yes").splitlines()[0] == BEGUN
    (push,) = pushes(client)
    assert client.says(BOB, TEAM_B, ASK).splitlines()[0] == "team-b may not use any object store."
    assert client.clicks(BOB, TEAM_B, "dataset.push_stop", push.id) == STRANGE
    assert client.clicks(ALICE, ELSEWHERE, "dataset.push", json.dumps(WISH)).startswith(
        "This channel belongs to no team"
    )
    assert len(pushes(client)) == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "/dataset push imagenet s3://lake/run-7/",
            (
                "`CLAIM:/PATH` takes a folder of a PVC such as `results:/run-7`, or `results:/`"
                " for the whole PVC, or a folder of a VolumeSnapshot such as"
                " `snapshot:monday:/run-7`, not"
                " `imagenet`."
            ),
        ),
        (
            "/dataset push imagenet:/a/../b s3://lake/run-7/",
            (
                "`CLAIM:/PATH` takes a folder of a PVC such as `results:/run-7`, or `results:/`"
                " for the whole PVC, or a folder of a VolumeSnapshot such as"
                " `snapshot:monday:/run-7`, not"
                " `imagenet:/a/../b`."
            ),
        ),
        (
            "/dataset push imagenet:/run-7 s3://lake/mine/../theirs/",
            NO_TARGET + "mine/../theirs/`.",
        ),
        ("/dataset push imagenet:/run-7 s3://lake/mine//run-7/", NO_TARGET + "mine//run-7/`."),
        (
            "/dataset push snapshot:imagenet s3://lake/run-7/",
            (
                "`CLAIM:/PATH` takes a folder of a PVC such as `results:/run-7`, or `results:/`"
                " for the whole PVC, or a folder of a VolumeSnapshot such as"
                " `snapshot:monday:/run-7`, not"
                " `snapshot:imagenet`."
            ),
        ),
        (
            "/dataset push snapshot:monday:/run-7 s3://lake/run-7/",
            "There is no VolumeSnapshot monday in namespace team-a.",
        ),
        (
            "/dataset push imagnet:/run-7 s3://lake/run-7/",
            "There is no PVC imagnet in namespace team-a.",
        ),
    ],
)
def test_wrong_input_is_explained_in_words(client: CommandClient, typed: str, said: str) -> None:
    assert client.says(ALICE, TEAM_A, typed).splitlines()[0] == said


def test_an_old_button_says_so(client: CommandClient) -> None:
    assert client.clicks(ALICE, TEAM_A, "dataset.push", "{}") == (
        "This button is out of date.\nType the command again."
    )
