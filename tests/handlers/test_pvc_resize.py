"""/pvc resize as people type it: who may, what it costs, and what is wrong with the words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.snapshots.resizes.tables import Resize
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DATASETS,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

PRICES = DATASETS + "  classes: {standard: {price_per_gib_month: 0.1}}\n"
GO = '{"t":"team-a","c":"default","p":"imagenet","s":2199023255552}'


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, PRICES) as opened_client:
        yield opened_client


def rows(client: CommandClient) -> list[tuple[str, str, int]]:
    found = client.application.database.read(lambda s: list(s.exec(select(Resize))))
    return [(each.person, each.claim_name, each.size_bytes) for each in found]


def test_lead_is_asked_before_it_grows(client: CommandClient) -> None:
    told = client.says(ERIN, TEAM_A, "/pvc resize imagenet 2Ti").splitlines()
    assert [" ".join(each.split()) for each in told] == [
        "Grow imagenet to 2 TiB?",
        "This is permanent: PVCs cannot shrink.",
        "Size 1 TiB → 2 TiB",
        "Class standard",
        "Monthly cost 102.40 → 204.80 (102.40 more)",
        "[Grow it]",
    ]
    assert rows(client) == []
    assert client.clicks(ERIN, TEAM_A, "pvc.resize", GO) == (
        "Requested. Its card in this channel shows the progress."
    )
    assert rows(client) == [(ERIN, "imagenet", 2**41)]


def test_second_click_does_not_resize_again(client: CommandClient) -> None:
    client.clicks(ERIN, TEAM_A, "pvc.resize", GO)
    assert "already requested to resize imagenet" in client.clicks(CAROL, TEAM_A, "pvc.resize", GO)
    assert len(rows(client)) == 1


def test_members_may_not_resize(client: CommandClient) -> None:
    told = client.says(ALICE, TEAM_A, "/pvc resize imagenet 2Ti")
    assert told.startswith("This requires the right pvc.resize, which you do not have here.")
    client.clicks(ALICE, TEAM_A, "pvc.resize", GO)
    client.clicks(BOB, TEAM_B, "pvc.resize", GO)
    assert rows(client) == []


def test_size_without_unit_is_refused(client: CommandClient) -> None:
    told = client.says(ERIN, TEAM_A, "/pvc resize imagenet 2000")
    assert told.startswith("`SIZE` takes an amount with its unit such as `512Mi`, `64Gi`")


def test_unknown_claims_are_refused_with_advice(client: CommandClient) -> None:
    assert client.says(ERIN, TEAM_A, "/pvc resize imagnet 2Ti") == (
        "There is no PVC imagnet in namespace team-a.\nDid you mean imagenet?"
    )


def test_old_buttons_are_refused(client: CommandClient) -> None:
    assert client.clicks(ERIN, TEAM_A, "pvc.resize", "nonsense") == (
        "This button is out of date.\nRequest it again: `/pvc resize PVC SIZE`."
    )
    assert client.clicks(ERIN, TEAM_A, "pvc.resize-withdraw", "none") == (
        "This resize no longer exists."
    )
