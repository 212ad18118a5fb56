"""/anf repair as people type it: shown, asked for, and refused to most."""

import pytest
from sqlmodel import col, select

from bot.volumes.repairs.tables import Repair
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
ASKING = "Asking Azure and Trident about `lane-data`…"
MOVED = "`lane-data` was moved to pool ultra, and Trident still has the old id."
MEANS = (
    "Trident's controller reads its records only when it starts. While it restarts, for about a"
    " minute, no Trident volume in the whole cluster is mounted on more nodes, created, grown,"
    " snapshotted or deleted: that waits. Running pods keep running, and nothing else is changed."
)


def test_dry_run_shows_both_writes(client: AnfClient) -> None:
    volume = client.arm.estate.volumes[0]
    old, name = client.arm.estate.volume_id(volume), volume.name.removeprefix("trident-")
    volume.pool = client.arm.ultra
    new = client.arm.estate.volume_id(volume)
    assert client.says(CAROL, TEAM_A, "/anf repair lane-data --dry-run") == ASKING
    assert client.learns(CAROL, TEAM_A, "repair lane-data --dry-run").splitlines() == [
        "Repair of PVC lane-data",
        f"{MOVED} This would be written:",
        MEANS,
        "Dry run: nothing was changed, and no approval was requested.",
        f"TridentVolume trident/{name}, unless it is changed in the meantime:",
        "  config.internalID",
        f"    - {old}",
        f"    + {new}",
        "Deployment trident/trident-controller, as kubectl rollout restart does:",
        "  spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]",
        "    + the time of the restart",
    ]


def test_click_asks_an_approver(client: AnfClient) -> None:
    client.arm.estate.volumes[0].pool = client.arm.ultra
    value = client.button(CAROL, TEAM_A, "repair lane-data")
    assert client.client.clicks(CAROL, TEAM_A, "anf.repair", value) == (
        "Requested. Its card in this channel shows the progress."
    )
    assert client.client.clicks(CAROL, TEAM_A, "anf.repair", value) == (
        "@U0CAROL already requested the repair of lane-data.\nIts card in #C0TEAMA shows the"
        " progress."
    )


def test_click_withdraws_what_waits(client: AnfClient) -> None:
    client.arm.estate.volumes[1].pool = client.arm.ultra
    value = client.button(CAROL, APPROVALS, "repair budget --team team-b")
    client.client.clicks(CAROL, APPROVALS, "anf.repair", value)
    listed = client.says(CAROL, APPROVALS, "/approval list")
    assert "Repair of PVC budget" in listed
    database = client.client.application.database
    mine = select(Repair).where(col(Repair.team) == "team-b")
    row_id = database.read(lambda s: s.exec(mine).one().id)
    told = client.client.clicks(CAROL, APPROVALS, "anf.repair-withdraw", row_id)
    assert told == "Withdrawn. Nothing was changed."
    assert "Repair of PVC budget" not in client.says(CAROL, APPROVALS, "/approval list")
    told = client.client.clicks(CAROL, TEAM_A, "anf.repair-withdraw", row_id)
    assert told.startswith("The repair of budget has already ended.")


def test_approvers_see_which_repairs_wait(client: AnfClient) -> None:
    client.arm.estate.volumes[0].pool = client.arm.ultra
    client.client.clicks(
        CAROL, TEAM_A, "anf.repair", client.button(CAROL, TEAM_A, "repair lane-data")
    )
    listed = client.says(CAROL, APPROVALS, "/approval list").splitlines()
    assert [line.rpartition(" requested by ")[0] for line in listed[1:]] == [
        "team-a: Repair of PVC lane-data,"
    ]
    assert "@U0CAROL" in listed[1]


def test_volume_in_its_place_needs_no_repair(client: AnfClient) -> None:
    assert client.learns(CAROL, TEAM_A, "repair lane-data") == (
        "The volume of PVC lane-data is where its PV says. There is nothing to repair."
    )


def test_volume_that_is_not_tridents_is_refused(client: AnfClient) -> None:
    assert client.learns(CAROL, TEAM_A, "repair models") == (
        "Trident did not create the volume of PVC models, and keeps no record of it.\nSuch"
        " volumes need no repair."
    )


@pytest.mark.parametrize(
    ("person", "channel"),
    [(ALICE, TEAM_A), (ERIN, TEAM_A), (BOB, TEAM_B), (DAN, TEAM_A), (CAROL, ELSEWHERE)],
)
def test_others_may_not_repair_anything(client: AnfClient, person: str, channel: str) -> None:
    told = client.says(person, channel, "/anf repair lane-data")
    assert "Asking Azure" not in told
    clicked = client.client.clicks(person, channel, "anf.repair", "{}")
    assert "Requested." not in clicked
    assert client.arm.asked() == []


def test_admin_repairs_from_the_approvals_channel(client: AnfClient) -> None:
    assert client.says(CAROL, APPROVALS, "/anf repair lane-data --team team-a") == ASKING


def test_button_of_another_time_is_refused(client: AnfClient) -> None:
    assert client.client.clicks(CAROL, TEAM_A, "anf.repair", "nonsense") == (
        "This button is out of date.\nRequest it again: `/anf repair PVC`."
    )
