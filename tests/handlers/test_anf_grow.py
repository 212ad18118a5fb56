"""/anf grow as people type it: who may, and what is wrong with the words."""

import pytest

from tests.handlers.anf_client import AnfClient, client, opened_client
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
)

__all__ = ["client", "opened_client"]
OFF = (
    "Changing volumes is not enabled.\nA platform admin can add `anf.changes` to"
    " quartermaster.yaml; see docs/anf.md."
)


@pytest.mark.parametrize("person", [ERIN, CAROL])
def test_without_changes_it_is_refused_at_once(client: AnfClient, person: str) -> None:
    assert client.says(person, TEAM_A, "/anf grow lane-data 2Ti") == OFF
    assert client.arm.asked() == []


@pytest.mark.parametrize(
    ("person", "channel"),
    [(ALICE, TEAM_A), (DAN, TEAM_A), (BOB, TEAM_A), (CAROL, APPROVALS), (ERIN, ELSEWHERE)],
)
def test_others_may_not_grow_anything(client: AnfClient, person: str, channel: str) -> None:
    told = client.says(person, channel, "/anf grow lane-data 2Ti")
    assert told != OFF
    assert "Asking Azure" not in told
    assert "Requested." not in client.client.clicks(person, channel, "anf.grow", "{}")


def test_size_without_a_unit_is_explained(client: AnfClient) -> None:
    told = client.says(ERIN, TEAM_A, "/anf grow lane-data 2000")
    assert "an amount with its unit such as `512Mi`, `64Gi` or `1.5Ti`" in told


def test_claims_of_others_are_not_found(client: AnfClient) -> None:
    told = client.says(BOB, TEAM_B, "/anf grow lane-data 2Ti")
    assert told.startswith("There is no PVC lane-data in namespace team-b.")


def test_claim_that_is_on_none_is_refused(client: AnfClient) -> None:
    told = client.says(ERIN, TEAM_A, "/anf grow imagenet 2Ti")
    assert "imagenet" in told
    assert "Asking Azure" not in told


@pytest.mark.parametrize("button", ["anf.grow-withdraw", "anf.repair-withdraw"])
def test_others_may_not_withdraw_anything(client: AnfClient, button: str) -> None:
    for person in (ALICE, DAN, BOB):
        assert "Withdrawn" not in client.client.clicks(person, TEAM_A, button, "0")
    assert client.client.clicks(CAROL, TEAM_A, button, "0").endswith("no longer exists.")


def test_old_button_is_out_of_date(client: AnfClient) -> None:
    assert client.client.clicks(ERIN, TEAM_A, "anf.grow", "nonsense") == (
        "This button is out of date.\nRequest it again: `/anf grow PVC SIZE`."
    )
