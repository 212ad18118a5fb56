"""/dataset as people type it; the surveys themselves are tested where they are made."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.database.database import Session
from bot.datasets.tables import CopyState, Version, VersionPhase
from tests.handlers.command_client import (
    ALICE,
    BOB,
    DATASETS,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

SETTINGS = DATASETS
ADD = "/dataset add chest-xray s3://lake/chest-xray"
DIGEST = "sha256:" + 64 * "a"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        yield opened_client


def recorded(client: CommandClient) -> None:
    """The survey under way ends well."""

    def work(session: Session) -> None:
        version = session.exec(select(Version)).one()
        version.phase, version.ended_at = VersionPhase.READY, version.asked_at
        version.digest, version.objects, version.size_bytes = DIGEST, 627_615, 45_000_000_000
        session.add(version)

    client.application.database.transaction(work)


def test_adding_says_what_comes_next(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, f"{ADD} --readers team-b") == (
        "Added dataset `chest-xray` of team-a. Readers: team-b.\n"
        "`s3://lake/chest-xray/` in store `lake` has not been checked yet. `/dataset version"
        " chest-xray` records the first version."
    )
    assert client.says(BOB, TEAM_B, "/dataset show chest-xray").splitlines()[:2] == [
        "chest-xray",
        "No versions yet. `/dataset version chest-xray` records the first version.",
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "/dataset add chest-xray",
            "`URL` is missing.",
        ),
        (
            "/dataset add chest-xray lake/chest-xray",
            (
                "`URL` takes a bucket and a folder in it such as `s3://lake/chest-xray/`, without"
                " `.`, `..` or `//`,"
                " not `lake/chest-xray`."
            ),
        ),
        (
            "/dataset show chest-xray@",
            (
                "`DATASET[@VERSION]` takes a dataset such as `chest-xray`, or one of its versions"
                " such as `chest-xray@v3`, not `chest-xray@`."
            ),
        ),
        (
            f"{ADD} --readers team_b",
            (
                "`--readers` takes comma-separated teams such as `team-b,team-c`, or"
                " `everyone`, not `team_b`."
            ),
        ),
        ("/dataset show nothing", "There is no dataset nothing for team-a."),
        ("/dataset remove nothing", "There is no dataset nothing for team-a."),
    ],
)
def test_wrong_input_is_explained(client: CommandClient, typed: str, said: str) -> None:
    assert client.says(ALICE, TEAM_A, typed).splitlines()[0] == said


def test_recording_says_where_to_look(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    typed = '/dataset version chest-xray --note "as delivered"'
    assert client.says(ALICE, TEAM_A, typed) == (
        "Recording `chest-xray@v1`. Its objects are listed, not read.\n"
        "Its card in this channel shows the progress."
    )
    assert client.says(ALICE, TEAM_A, "/dataset show chest-xray").splitlines()[1] == (
        "Recording v1."
    )


def test_a_command_delivered_twice_counts_once(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    typed = "/dataset version chest-xray"
    client.says(ALICE, TEAM_A, typed, delivery="one")
    assert client.says(ALICE, TEAM_A, typed, delivery="one") == (
        "This was already received. Nothing was done twice."
    )


def test_version_takes_clusters_of_the_team(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    assert client.says(
        ALICE, TEAM_A, "/dataset version chest-xray --cluster east"
    ).splitlines() == [
        "team-a has no cluster east.",
        "It has: default.",
    ]
    typed = "/dataset version chest-xray --copy --cluster default"
    assert f"`{typed} --yes`" in client.says(ALICE, TEAM_A, typed)
    assert client.says(ALICE, TEAM_A, f"{typed} --yes").splitlines()[0] == (
        "Recording `chest-xray@v1`. Its objects are listed, then copied."
    )


def test_versions_are_listed_with_their_figures(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    client.says(ALICE, TEAM_A, "/dataset version chest-xray")
    recorded(client)
    listed = client.says(ALICE, TEAM_A, "/dataset list").splitlines()
    assert listed[0] == "Datasets for team-a"
    assert listed[2].split()[:5] == ["chest-xray", "team-a", "v1", "627,615", "45"]
    shown = client.says(ALICE, TEAM_A, "/dataset show chest-xray@v1").splitlines()
    assert shown[0] == "✅ chest-xray@v1 · Recorded"
    assert "  Size          45 GB (45,000,000,000 bytes)" in shown
    assert f"  Digest        `{DIGEST}`" in shown


def test_one_version_has_no_difference(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    client.says(ALICE, TEAM_A, "/dataset version chest-xray")
    recorded(client)
    assert client.says(ALICE, TEAM_A, "/dataset diff chest-xray chest-xray@v1") == (
        "chest-xray and chest-xray@v1 are the same version.\n"
        "Name two different versions, for example `/dataset diff chest-xray@v2 chest-xray@v3`."
    )


def test_other_teams_and_places_see_nothing(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    assert client.says(BOB, TEAM_B, "/dataset show chest-xray").splitlines()[0] == (
        "There is no dataset chest-xray for team-b."
    )
    assert client.says(ALICE, ELSEWHERE, "/dataset list").splitlines()[0] == (
        "This channel belongs to no team, so this cannot be used here."
    )


def test_removing_says_how_to_undo(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    assert client.says(ALICE, TEAM_A, "/dataset remove chest-xray") == (
        "Removed `chest-xray` from the catalogue. Nothing in `s3://lake/chest-xray/` was changed.\n"
        "`/dataset add chest-xray s3://lake/chest-xray/ --store lake` adds it again,"
        " without its versions."
    )
    assert client.says(ALICE, TEAM_A, "/dataset list").splitlines()[1] == (
        "No datasets yet. Add one:"
    )


def test_without_settings_there_are_none(plain_client: CommandClient) -> None:
    assert plain_client.says(ALICE, TEAM_A, ADD).splitlines()[0] == "Datasets are not configured."


def copied(client: CommandClient) -> None:
    """The recorded version has a copy."""

    def work(session: Session) -> None:
        version = session.exec(select(Version)).one()
        version.copy_state, version.copies = CopyState.MADE, "s3://lake/state/copies/1/"
        version.copied_files, version.copied_bytes = 627_615, 45_000_000_000
        session.add(version)

    client.application.database.transaction(work)


def test_copy_is_offered_with_its_size(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    asked = '/dataset version chest-xray --name v1 --note "as delivered" --copy'
    offer = client.says(ALICE, TEAM_A, asked).splitlines()
    assert offer[1:] == [
        "The size is unknown until the objects are listed (unknown price).",
        (
            "Objects that have a copy already are not copied again. If the bucket keeps versions,"
            " nothing is copied, because the version then names the version of each object."
        ),
        (
            "Nothing has started. `/dataset version chest-xray --name v1 --note 'as delivered'"
            " --copy --yes` starts it."
        ),
    ]
    assert client.says(ALICE, TEAM_A, f"{asked} --yes") == (
        "Recording `chest-xray@v1`. Its objects are listed, then copied.\n"
        "Its card in this channel shows the progress."
    )
    recorded(client)
    offer = client.says(ALICE, TEAM_A, "/dataset version chest-xray --copy").splitlines()
    assert offer[1] == (
        "v1 has 627,615 objects, 45 GB (price unknown), so the copy takes about as much."
    )
    copied(client)
    offer = client.says(ALICE, TEAM_A, "/dataset version chest-xray --copy --name v2").splitlines()
    assert offer[1] == (
        "v1 has 627,615 objects, 45 GB (price unknown) and a copy: only what changed since is"
        " copied."
    )
    assert client.says(BOB, TEAM_B, "/dataset version chest-xray --copy").splitlines()[0] == (
        "There is no dataset chest-xray for team-b."
    )


def test_copy_is_removed_after_a_question(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    client.says(ALICE, TEAM_A, "/dataset version chest-xray --name v1 --copy --yes")
    recorded(client)
    remove = "/dataset remove chest-xray@v1"
    assert client.says(ALICE, TEAM_A, f"{remove} --copy").splitlines()[0] == (
        "chest-xray@v1 has no copy."
    )
    copied(client)
    assert client.says(ALICE, TEAM_A, remove).splitlines() == [
        (
            "chest-xray@v1 is not removed: a version stays as long as its dataset, because runs"
            " name it."
        ),
        "To remove only its copy: `/dataset remove chest-xray@v1 --copy`.",
    ]
    assert client.says(ALICE, TEAM_A, "/dataset remove chest-xray --copy").splitlines() == [
        "Name the version whose copy is to be removed.",
        "For example `/dataset remove chest-xray@v3 --copy`.",
    ]
    assert client.says(ALICE, TEAM_A, f"{remove} --copy --yes ").splitlines() == [
        "Removing the copy of `chest-xray@v1`.",
        "A card in this channel shows the progress.",
    ]


def test_offered_commands_keep_the_team(client: CommandClient) -> None:
    def says(text: str) -> str:
        return client.says(ALICE, "D0ALICE", f"/dataset {text}")

    client.says(ALICE, TEAM_A, ADD)
    record = "version chest-xray --team team-a --copy"
    assert f"`/dataset {record} --yes` starts it." in says(record)
    says(f"{record} --yes")
    recorded(client)
    copied(client)
    remove = "remove chest-xray@v1 --team team-a"
    assert says(remove).endswith(f"To remove only its copy: `/dataset {remove} --copy`.")
    assert f"`/dataset {remove} --copy --yes` removes it." in says(f"{remove} --copy")
    remove = "remove chest-xray --team team-a"
    assert f"`/dataset {remove} --yes` removes it." in says(remove)


def test_dataset_with_copies_is_removed_after_a_question(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, ADD)
    client.says(ALICE, TEAM_A, "/dataset version chest-xray --name v1 --copy --yes")
    recorded(client)
    copied(client)
    assert client.says(ALICE, TEAM_A, "/dataset remove chest-xray").splitlines() == [
        (
            "Removing chest-xray also removes the copies of v1. Versions whose objects were"
            " overwritten or deleted in the source are then lost."
        ),
        (
            "Nothing has been removed. `/dataset remove chest-xray --yes` removes it. This cannot"
            " be undone."
        ),
    ]
    assert client.says(ALICE, TEAM_A, "/dataset remove chest-xray --yes").splitlines()[2] == (
        "Its copies are being removed; a card in this channel shows the progress."
    )
