"""What is known of pools and moved volumes while one of two subscriptions cannot be read."""

import pytest
from sqlmodel import select

from bot.config import Settings
from bot.errors import StorageError
from bot.volumes.pools.capacity import pool_rooms, pool_sums
from bot.volumes.pools.reads import VolumeReads
from bot.volumes.tables import SeenPool
from playground.arm.estate import ACCOUNT, FURTHER, GROUP, SUBSCRIPTION, TIB, Account, Pool
from playground.arm.trident import CLASS
from tests.bot.volumes.repairs.repairing import Workshop
from tests.bot.volumes.rig import Rig

OURS = f"{GROUP}/{ACCOUNT}"


def widen(rig: Rig, classes: dict[str, list[str]] | None = None) -> None:
    """The bot is told of the second subscription."""
    told = rig.policy.model_dump()
    told["anf"]["other_subscriptions"] = {FURTHER: [OURS]}
    told["anf"]["classes"] = classes or {}
    rig.policy = Settings.model_validate(told)


def further(rig: Rig) -> Account:
    return rig.arm.estate.add_account(subscription=FURTHER)


@pytest.fixture
def lab(rig: Rig) -> Pool:
    """A pool of the second subscription, with the name of one in the first."""
    widen(rig)
    return rig.arm.estate.add_pool(further(rig), "premium", "Premium", 8)


def refuse(rig: Rig, *, is_refused: bool = True) -> None:
    allowed = rig.arm.app.routes.permissions_in(FURTHER)
    allowed.actions = [] if is_refused else ["Microsoft.NetApp/*"]


def seen(rig: Rig) -> dict[str, int]:
    """The rows of pools of that name: their sizes in TiB by their subscriptions."""
    rows = rig.do(lambda s: s.exec(select(SeenPool).where(SeenPool.name == "premium")).all())
    return {each.id.split("/")[2]: each.size_bytes // TIB for each in rows}


def test_unread_pools_stay_as_they_were(rig: Rig, lab: Pool) -> None:
    rig.look_at_azure()
    assert seen(rig) == {SUBSCRIPTION: 2, FURTHER: 8}
    refuse(rig)
    lab.size = rig.arm.premium.size = 4 * TIB
    rig.later(minutes=10)
    rig.look_at_azure()
    assert seen(rig) == {SUBSCRIPTION: 4, FURTHER: 8}
    refuse(rig, is_refused=False)
    rig.arm.estate.pools.remove(lab)
    rig.later(minutes=10)
    rig.look_at_azure()
    assert seen(rig) == {SUBSCRIPTION: 4}


def test_pools_go_with_their_subscription(rig: Rig, lab: Pool) -> None:  # noqa: ARG001 - it has to be there
    rig.look_at_azure()
    told = rig.policy.model_dump()
    told["anf"]["other_subscriptions"] = {}
    rig.policy = Settings.model_validate(told)
    rig.later(minutes=10)
    rig.look_at_azure()
    assert seen(rig) == {SUBSCRIPTION: 2}


def test_moved_volumes_of_unread_subscriptions_stay_known(rig: Rig, lab: Pool) -> None:
    volume = rig.provision("lab-data", 1024, lab)
    volume.pool = rig.arm.estate.add_pool(lab.account, "ultra", "Ultra", 2)
    rig.volume.pool = rig.arm.premium
    rig.look_at_azure()
    assert rig.known() == ["lab-data", "lane-data"]
    refuse(rig)
    rig.volume.pool = rig.arm.standard
    rig.later(minutes=10)
    rig.look_at_azure()
    assert rig.known() == ["lab-data"]
    refuse(rig, is_refused=False)
    volume.pool = lab
    rig.later(minutes=10)
    rig.look_at_azure()
    assert rig.known() == []


def test_classes_name_a_pool_of_one_subscription(rig: Rig, lab: Pool) -> None:
    rig.look_at_azure()
    now = rig.clock.now()

    def free(names: list[str]) -> tuple[int, int]:
        widen(rig, {CLASS: names})
        room = rig.do(lambda s: pool_rooms(s, rig.policy, rig.cluster, now))[CLASS]
        whole = rig.do(lambda s: pool_sums(s, rig.policy, rig.cluster, now))[CLASS]
        return room.free_bytes // TIB, whole.size_bytes // TIB

    assert free([f"{SUBSCRIPTION}/{OURS}/premium"]) == (2, 2)
    assert free([f"{lab.account.subscription}/{OURS}/Premium"]) == (8, 8)
    assert free(["premium"]) == (8, 10)


def test_team_sees_what_can_be_read(rig: Rig, lab: Pool) -> None:
    rig.provision("lab-data", 1024, lab)
    rig.look()
    reads, team = VolumeReads(rig.files, rig.clusters), rig.policy.teams["team-a"]
    whole = reads.volumes(team)
    assert {each.claimed.claim.name: each.found.volume.pool.subscription
            for each in whole.rows if each.found} == {
        "lane-data": SUBSCRIPTION, "lab-data": FURTHER,
    }  # fmt: skip
    refuse(rig)
    part = reads.volumes(team)
    assert {each.claimed.claim.name: each.is_unread for each in part.rows} == {
        "lane-data": False, "lab-data": True,
    }  # fmt: skip
    assert [each.subscription for each in part.unread] == [FURTHER]
    assert reads.show(*reads.find(team, "lane-data", None)).row.found is not None
    with pytest.raises(StorageError) as caught:
        reads.show(*reads.find(team, "lab-data", None))
    assert "AuthorizationFailed" in caught.value.message
    assert f"/subscriptions/{FURTHER}/" in caught.value.message


def test_account_that_is_not_named_is_not_shown(rig: Rig, lab: Pool) -> None:
    lab.account.name = "archive"
    rig.provision("old-data", 1024, lab)
    rig.look()
    reads, team = VolumeReads(rig.files, rig.clusters), rig.policy.teams["team-a"]
    with pytest.raises(StorageError) as caught:
        reads.show(*reads.find(team, "old-data", None))
    assert caught.value.message == (
        f"The volume of PVC old-data is in account {GROUP}/archive of subscription {FURTHER},"
        " which the bot does not read."
    )


def test_repair_in_the_second_subscription(shop: Workshop) -> None:
    widen(shop)
    lab = shop.arm.estate.add_pool(further(shop), "standard", "Standard", 4)
    volume = shop.provision("lab-data", 1024, lab)
    volume.pool = shop.arm.estate.add_pool(lab.account, "premium", "Premium", 2)
    refuse(shop)
    with pytest.raises(StorageError) as caught:
        shop.plan("lab-data")
    assert caught.value.message.startswith(f"Subscription {FURTHER} could not be read.")
    refuse(shop, is_refused=False)
    plan = shop.plan("lab-data")
    assert plan.new_id == shop.arm.estate.volume_id(volume)
    row_id = shop.ask(plan)
    shop.decide(row_id)
    shop.later(minutes=2)
    assert (shop.found(row_id).phase, shop.found(row_id).reason) == ("done", "")
