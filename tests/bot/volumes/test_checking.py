"""What the doctor says of Azure NetApp Files."""

from contextlib import closing

import pytest

from bot.findings import Finding
from bot.volumes.anf import NetAppFiles
from bot.volumes.checking import checks, records, ungiven
from playground.arm.estate import GROUP
from tests.arm import Arm
from tests.bot.volumes.rig import Rig
from tests.bot.volumes.settings import settings_for

READ = "Microsoft.NetApp/netAppAccounts/capacityPools/volumes/read"
ROLE = "Give the bot's Azure identity the role in docs/anf.md for that resource group."


def test_all_is_well_where_all_is_granted(files: NetAppFiles) -> None:
    assert list(checks(files)) == [
        Finding("azure netapp files", "ok", "pools: standard, premium, ultra, tuned"),
        Finding(f"azure permissions in {GROUP}", "ok", "all 3 are granted"),
    ]


def test_missing_permissions_are_named(arm: Arm, files: NetAppFiles) -> None:
    arm.app.routes.permissions.not_actions = ["Microsoft.NetApp/*/volumes/*"]
    assert list(checks(files))[1] == Finding(
        f"azure permissions in {GROUP}", "failed", f"missing: {READ}", ROLE
    )


def test_changes_need_permissions_that_write(arm: Arm, identity: None) -> None:  # noqa: ARG001 - it has to be there
    arm.app.routes.permissions.actions = ["*/read"]
    with closing(NetAppFiles(lambda: settings_for(arm, changes={}))) as files:
        assert list(checks(files))[1] == Finding(
            f"azure permissions in {GROUP}",
            "failed",
            "missing: Microsoft.NetApp/netAppAccounts/capacityPools/write,"
            " Microsoft.NetApp/netAppAccounts/capacityPools/volumes/write,"
            " Microsoft.NetApp/netAppAccounts/capacityPools/volumes/PoolChange/action",
            ROLE,
        )


def test_creating_pools_needs_permissions_too(arm: Arm, identity: None) -> None:  # noqa: ARG001 - it has to be there
    arm.app.routes.permissions.actions = ["*/read"]
    arm.estate.pools.clear()
    more = {"accounts": [f"{GROUP}/ml"], "pool_creation": {}}
    with closing(NetAppFiles(lambda: settings_for(arm, **more))) as files:
        assert list(checks(files))[1] == Finding(
            f"azure permissions in {GROUP}",
            "failed",
            "missing: Microsoft.NetApp/netAppAccounts/capacityPools/write,"
            " Microsoft.NetApp/netAppAccounts/capacityPools/delete",
            ROLE,
        )


def test_refusal_to_list_is_told(arm: Arm, files: NetAppFiles) -> None:
    arm.app.routes.permissions.actions = []
    found = list(checks(files))
    assert [each.state for each in found] == ["failed"]
    assert "'Microsoft.NetApp/netAppAccounts/read'" in found[0].says
    assert found[0].remedy == (
        "A platform admin has to give the bot's Azure identity the role in docs/anf.md."
    )


def test_subscription_without_pools_is_a_warning(arm: Arm, files: NetAppFiles) -> None:
    arm.estate.pools.clear()
    assert list(checks(files)) == [
        Finding(
            "azure netapp files",
            "warning",
            "the bot can see no capacity pools",
            "Name the accounts in anf.accounts, or create a capacity pool.",
        )
    ]


@pytest.mark.parametrize(
    ("role", "lacks"),
    [
        ({"actions": ["*"]}, False),
        ({"actions": ["*/read"]}, False),
        ({"actions": ["microsoft.netapp/NETAPPACCOUNTS/*"]}, False),
        ({"actions": ["Microsoft.NetApp/netAppAccounts/read"]}, True),
        ({"actions": ["*"], "notActions": ["Microsoft.NetApp/*"]}, True),
        ({}, True),
    ],
)
def test_actions_are_matched_as_azure_does(role: dict[str, list[str]], *, lacks: bool) -> None:
    assert bool(ungiven([READ], [role])) == lacks


def test_one_role_can_give_what_another_withholds() -> None:
    withheld = {"actions": ["*"], "notActions": [READ]}
    assert ungiven([READ], [withheld, {"actions": [READ]}]) == []


def test_records_that_can_be_read_are_told(rig: Rig) -> None:
    says = "its records of moved volumes can be read and repaired"
    told = Finding("cluster default trident", "ok", says)
    assert list(records(rig.policy, rig.cluster)) == [told]


def test_records_it_may_not_read_are_warned_of(rig: Rig) -> None:
    rig.world.forbid("get", "tridentvolumes")
    assert list(records(rig.policy, rig.cluster)) == [
        Finding(
            "cluster default trident",
            "warning",
            "missing: get tridentvolumes in trident",
            (
                "Set rights.tridentRepairs in the Helm chart, or apply"
                " deploy/kubernetes/18-trident.yaml, bound in Trident's namespace."
            ),
        )
    ]


def test_records_matter_only_with_azure(rig: Rig) -> None:
    assert list(records(rig.policy.model_copy(update={"anf": None}), rig.cluster)) == []


def test_growing_needs_pvcs_that_it_may_patch(rig: Rig, arm: Arm) -> None:
    policy = settings_for(arm, changes={})
    about = "cluster default growing PVCs"
    told = Finding(about, "ok", "allowed in each team's namespace")
    assert list(records(policy, rig.cluster))[1:] == [told]
    rig.world.forbid("patch", "persistentvolumeclaims")
    assert list(records(policy, rig.cluster))[1:] == [
        Finding(
            about,
            "warning",
            "/anf grow needs: patch persistentvolumeclaims in team-a",
            (
                "Upgrade the Helm release, or apply deploy/kubernetes/17-datasets.yaml, and"
                " 20-teams.yaml for each team's namespace."
            ),
        )
    ]
