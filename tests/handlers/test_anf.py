"""/anf as people type it: what they are told at once, and what follows when Azure has answered."""

import pytest

from bot.cluster.resources import PVCS
from playground.ledger import Fault
from tests.bot.cluster.api.api_server import eventually
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
    CommandClient,
)

__all__ = ["client", "opened_client"]
HEADER = ("PVC | Pool | Level | Size | Throughput | Used",)
GIVEN_OUT = (
    "tuned (1 volume) | Premium | Manual | 2 TiB | 1.5 TiB | 40 of 131.1 MiB/s assigned | 593.92"
)


def test_team_sees_its_own_volumes(client: AnfClient) -> None:
    assert client.says(ALICE, TEAM_A, "/anf volumes") == "Asking Azure for the volumes of team-a…"
    assert client.reads(ALICE, TEAM_A, "volumes") == [
        "Volumes of team-a on Azure NetApp Files",
        "3 PVCs are on none that the bot can see in Azure: faces, imagenet, team-a-data.",
        *HEADER,
        "lane-data | premium | Premium | 1 TiB | 65.5 MiB/s | 412 GiB (40 %)",
        "models | tuned | Premium | 512 GiB | 40 MiB/s | unknown",
    ]
    assert "lane-data" not in client.learns(BOB, TEAM_B, "volumes")


def test_volume_that_is_gone_is_told(client: AnfClient) -> None:
    gone = client.arm.estate.volumes.pop(0)
    told = client.reads(ALICE, TEAM_A, "volumes")
    assert told[1] == (
        f"The bot cannot see the volume of `lane-data` in Azure: `{gone.name}`. It was deleted,"
        " or is in an account or subscription that the bot does not read."
    )
    assert "lane-data | unknown | unknown | unknown | unknown | unknown" in told


def test_path_that_no_address_serves_is_told(client: AnfClient) -> None:
    client.arm.estate.volumes.pop(2)
    told = client.learns(ALICE, TEAM_A, "volumes")
    assert "The bot cannot see the volume of `models` in Azure:" in told


def test_nfs_of_somebody_else_is_not_missed(client: AnfClient) -> None:
    assert client.learns(ALICE, TEAM_A, "show faces") == (
        "PVC faces is on 127.0.0.1:/faces, where the bot can see no volumes in Azure.\n`/anf"
        " volumes` lists the PVCs on Azure NetApp Files."
    )


def test_show_says_what_other_levels_do(client: AnfClient) -> None:
    volume = client.arm.estate.volumes[0]
    assert client.says(ALICE, TEAM_A, "/anf show lane-data") == (
        "Asking Azure for the volume of `lane-data`…"
    )
    assert client.reads(ALICE, TEAM_A, "show lane-data") == [
        "team-a/lane-data",
        "Level | Premium",
        "Size | 1 TiB",
        "Throughput | 65.5 MiB/s (follows its size, 64 MiB/s per TiB)",
        "At other levels | about Standard 16.4 MiB/s, Ultra 131.1 MiB/s",
        "Used | 412 GiB (40 %)",
        "Pool | premium: 2 TiB, 1 TiB free, QoS Auto",
        "Monthly cost | 296.96 of the 593.92 for the pool",
        f"Volume | `{volume.name}`",
        "Account | `ml-platform/ml`",
        "State | Succeeded",
        f"PV | `{volume.name.removeprefix('trident-')}`",
    ]


def test_show_of_manual_throughput_says_so(client: AnfClient) -> None:
    told = client.reads(ALICE, TEAM_A, "show models")
    assert told[1:6] == [
        "Level | Premium",
        "Size | 512 GiB",
        "Throughput | 40 MiB/s (set manually)",
        "Used | unknown",
        "Pool | tuned: 2 TiB, 1.5 TiB free, QoS Manual",
    ]


def test_names_that_are_wrong_are_answered_at_once(client: AnfClient) -> None:
    assert client.says(ALICE, TEAM_A, "/anf show lane-dat") == (
        "There is no PVC lane-dat in namespace team-a.\nDid you mean lane-data?"
    )
    assert client.says(ALICE, TEAM_A, "/anf show budget") == (
        "There is no PVC budget in namespace team-a.\n"
        "These may be on Azure NetApp Files: faces, lane-data, models."
    )
    assert client.arm.asked() == []


def test_pools_are_told_with_their_cost(client: AnfClient) -> None:
    assert client.says(BOB, TEAM_B, "/anf pools") == "Asking Azure for the capacity pools…"
    assert client.reads(CAROL, APPROVALS, "pools") == [
        "Capacity pools of Azure NetApp Files",
        "Total: 1,802.24 a month, for pools with a known price.",
        "Pool | Level | QoS | Size | Free | Throughput | Monthly cost",
        "standard (1 volume) | Standard | Auto | 4 TiB | 3.9 TiB | 65.5 MiB/s | 614.40",
        "premium (1 volume) | Premium | Auto | 2 TiB | 1 TiB | 131.1 MiB/s | 593.92",
        "ultra (0 volumes) | Ultra | Auto | 1 TiB | 1 TiB | 131.1 MiB/s | unknown",
        GIVEN_OUT,
        "Azure bills the provisioned size of pools, whatever they hold.",
    ]


@pytest.mark.parametrize(
    ("person", "channel", "text"),
    [
        (ALICE, TEAM_A, "/anf pools"),
        (DAN, TEAM_A, "/anf volumes"),
        (ALICE, TEAM_B, "/anf volumes"),
        (ALICE, TEAM_A, "/anf volumes --team team-b"),
        (BOB, ELSEWHERE, "/anf volumes"),
    ],
)
def test_others_are_refused_before_azure_is_asked(
    client: AnfClient, person: str, channel: str, text: str
) -> None:
    assert "Asking Azure" not in client.says(person, channel, text)
    assert client.arm.asked() == []


def test_leads_and_admins_see_pools(client: AnfClient) -> None:
    for person, channel in ((ERIN, TEAM_A), (BOB, TEAM_B), (CAROL, TEAM_A)):
        assert client.learns(person, channel, "pools").startswith("Capacity pools")


def test_outage_of_azure_is_told(client: AnfClient) -> None:
    client.arm.ledger.by_name["GET netAppAccounts"] = [Fault.REFUSE, Fault.REFUSE]
    assert client.learns(ALICE, TEAM_A, "volumes") == (
        "Listing the NetApp accounts of the subscription: Azure cannot be reached"
        " (ServiceResponseError).\nTry again in a minute. The address is set in anf.endpoint."
    )


def test_without_azure_it_is_told_at_once(plain_client: CommandClient) -> None:
    assert plain_client.says(ALICE, TEAM_A, "/anf volumes") == (
        "Azure NetApp Files is not configured.\nA platform admin can add `anf` to"
        " quartermaster.yaml; see docs/anf.md."
    )


def test_pvc_cannot_borrow_the_volume_of_another(client: AnfClient) -> None:
    cluster = client.client.application.clusters["default"]
    bound = next(
        each for each in cluster.view.all(PVCS, "team-b") if each.name == "budget"
    )  # fmt: skip
    body = {
        "metadata": {"name": "thief"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "azurenetappfiles",
            "resources": {"requests": {"storage": "100Gi"}},
            "volumeName": bound.spec.volume_name,
        },
    }
    cluster.create(PVCS, body, "team-a")
    eventually(lambda: cluster.view.get(PVCS, "thief", "team-a") is not None)
    assert client.says(ALICE, TEAM_A, "/anf show thief").startswith(
        "PVC thief is not on Azure NetApp Files."
    )
    assert client.reads(ALICE, TEAM_A, "volumes")[1] == (
        "4 PVCs are on none that the bot can see in Azure: faces, imagenet, team-a-data, thief."
    )
    cluster.delete(PVCS, "thief", "team-a")
    eventually(lambda: cluster.view.get(PVCS, "thief", "team-a") is None)
