"""/pvc where Azure NetApp Files is configured: levels and costs follow when Azure has answered."""

import re

from bot.slack.text import as_text
from playground.ledger import Fault
from tests.handlers.anf_client import AnfClient, client, opened_client
from tests.handlers.command_client import ALICE, TEAM_A

__all__ = ["client", "opened_client"]


def learns(client: AnfClient, words: str) -> list[str]:
    """What follows, with the cells of tables and facts apart by bars."""
    incoming = client.client.incoming(ALICE, TEAM_A, command="pvc", words=words)
    reply = client.client.application.dispatcher.answer(incoming)
    assert reply is not None
    assert reply.later is not None, as_text(reply)
    told = as_text(reply.later()).splitlines()
    return [re.sub(r" {2,}", " | ", line.strip()) for line in told]


def test_list_follows_with_levels_and_costs(client: AnfClient) -> None:
    assert client.says(ALICE, TEAM_A, "/pvc list") == (
        "Asking Azure for the levels of team-a's PVCs…"
    )
    assert learns(client, "list") == [
        "PVCs of team-a",
        "Total: 445.44 a month, for PVCs with a known price.",
        "PVC | Size | Class | Access | Mounted by | Snapshots | Level | Monthly cost",
        "faces | 512 GiB | azurenetappfiles | RWX | not mounted | not served | unknown",
        "imagenet | 1 TiB | standard | RWX | not mounted | not served | unknown",
        "lane-data | 1 TiB | azurenetappfiles | RWX | not mounted | not served | Premium | 296.96",
        "models | 512 GiB | azurenetappfiles | RWX | not mounted | not served | Premium | 148.48",
        "team-a-data | 1 TiB | standard | RWX | not mounted | not served | unknown",
    ]


def test_show_follows_with_level_and_cost(client: AnfClient) -> None:
    assert client.says(ALICE, TEAM_A, "/pvc show lane-data") == (
        "Asking Azure for the level of `lane-data`…"
    )
    told = learns(client, "show lane-data")
    assert told[9:] == [
        "Level | Premium of Azure NetApp Files, pool premium",
        "Throughput | 65.5 MiB/s",
        "Used | 412 GiB (40 %)",
        "Monthly cost | 296.96, its share of the pool",
        "Mounted by | no pod now",
        "Snapshots | none: the cluster serves no VolumeSnapshots",
    ]


def test_disks_are_answered_without_azure(client: AnfClient) -> None:
    assert client.says(ALICE, TEAM_A, "/pvc show imagenet").startswith("PVC imagenet · Bound")
    assert client.arm.asked() == []


def test_other_nfs_servers_have_no_level(client: AnfClient) -> None:
    told = learns(client, "show faces")
    assert [line for line in told if "Azure" in line] == []


def test_volume_that_moved_is_told(client: AnfClient) -> None:
    client.arm.estate.volumes[0].pool = client.arm.ultra
    assert learns(client, "show lane-data")[1] == (
        "Its volume was moved to another pool; `/anf show` tells what that means."
    )


def test_outage_of_azure_hides_only_levels(client: AnfClient) -> None:
    refused = [Fault.REFUSE, Fault.REFUSE]
    client.arm.ledger.by_name["GET netAppAccounts"] = list(refused)
    listed = learns(client, "list")
    assert listed[1] == (
        "Levels of Azure NetApp Files are unknown: Listing the NetApp accounts of the"
        " subscription: Azure cannot be reached (ServiceResponseError)."
    )
    assert listed[2] == "PVC | Size | Class | Access | Mounted by | Snapshots"
    assert listed[5] == "lane-data | 1 TiB | azurenetappfiles | RWX | not mounted | not served"
    client.arm.ledger.by_name["GET netAppAccounts"] = list(refused)
    assert learns(client, "show models")[1] == (
        "Its level in Azure NetApp Files is unknown: Listing the NetApp accounts of the"
        " subscription: Azure cannot be reached (ServiceResponseError)."
    )
