"""Changes of volumes in a second subscription, whose account and pools have the same names."""

import pytest

from bot.config import Settings
from bot.errors import NotFoundError, StorageError
from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import ACCOUNT, FURTHER, GROUP, Pool
from tests.bot.volumes.changes.rig import Rig, level, mibps


@pytest.fixture
def lab(rig: Rig) -> dict[str, Pool]:
    """The pools of the second subscription by their names: standard, premium and tuned."""
    estate = rig.arm.estate
    account = estate.add_account(subscription=FURTHER)
    tuned = estate.add_pool(account, "tuned", "Premium", 2)
    tuned.qos = "Manual"
    told = rig.policy.model_dump()
    told["anf"]["other_subscriptions"] = {FURTHER: [f"{GROUP}/{ACCOUNT}"]}
    rig.policy = Settings.model_validate(told)
    return {
        "standard": estate.add_pool(account, "standard", "Standard", 4),
        "premium": estate.add_pool(account, "premium", "Premium", 2),
        "tuned": tuned,
    }


def test_level_stays_in_its_subscription(rig: Rig, lab: dict[str, Pool]) -> None:
    data = rig.volume("data", lab["standard"])
    asked = level("data", "Premium", seconds=25 * 3600)
    assert f"Subscription  `{FURTHER}`" in rig.question(asked)
    row_id = rig.ask(asked)
    rig.pass_time(minutes=5)
    assert (data.pool, rig.row(row_id).phase) == (lab["premium"], ChangePhase.HELD)
    assert rig.row(row_id).subscription == FURTHER
    assert f"Subscription  `{FURTHER}`" in rig.card(row_id)
    rig.pass_time(hours=26)
    assert (data.pool, rig.row(row_id).phase) == (lab["standard"], ChangePhase.RETURNED)


def test_pools_of_one_name_wait_for_none(rig: Rig, lab: dict[str, Pool]) -> None:
    rig.volume("one", rig.arm.standard)
    rig.volume("two", lab["standard"])
    rows = [rig.ask(level(each, "Premium")) for each in ("one", "two")]
    rig.pass_time(seconds=4)
    assert [(rig.row(e).phase, rig.row(e).trouble) for e in rows] == [(ChangePhase.WORKING, "")] * 2
    rig.pass_time(minutes=2)
    assert [each.pool for each in rig.arm.estate.volumes] == [rig.arm.premium, lab["premium"]]


def test_levels_of_another_subscription_do_not_count(rig: Rig, lab: dict[str, Pool]) -> None:
    rig.volume("data", lab["standard"])
    with pytest.raises(NotFoundError) as caught:
        rig.plan(level("data", "Ultra"))
    assert caught.value.message == f"Account {ACCOUNT} has no other pool of level Ultra."


def test_refusing_subscription_delays_only_its_own(rig: Rig, lab: dict[str, Pool]) -> None:
    ours, theirs = rig.of_trident("ours", rig.arm.tuned), rig.of_trident("theirs", lab["tuned"])
    allowed = rig.arm.app.routes.permissions_in(FURTHER)
    before, allowed.actions = allowed.actions, []
    rows = [rig.begin(mibps(each, 40)) for each in ("ours", "theirs")]
    rig.pass_time(minutes=3)
    assert [rig.row(each).phase for each in rows] == [ChangePhase.DONE, ChangePhase.CHECKING]
    assert (ours.throughput, theirs.throughput) == (40, 16)
    told = rig.card(rows[1])
    assert f"Subscription {FURTHER} could not be read. Listing the capacity pools of" in told
    assert "AuthorizationFailed" in told
    with pytest.raises(StorageError):
        rig.plan(mibps("theirs", 30))
    allowed.actions = before
    rig.pass_time(hours=1)
    assert (rig.row(rows[1]).phase, theirs.throughput) == (ChangePhase.DONE, 40)


@pytest.mark.usefixtures("lab")
def test_address_in_doubt_is_not_changed(rig: Rig) -> None:
    rig.volume("data", rig.arm.tuned)
    rig.arm.app.routes.permissions_in(FURTHER).actions = []
    with pytest.raises(StorageError) as caught:
        rig.plan(mibps("data", 40))
    assert caught.value.message.startswith(f"Subscription {FURTHER} could not be read.")
    row_id = rig.begin(mibps("data", 40))
    rig.pass_time(minutes=3)
    assert (rig.row(row_id).phase, rig.effects()) == (ChangePhase.CHECKING, [])
    rig.arm.app.routes.permissions_in(FURTHER).actions = ["*"]
    rig.pass_time(hours=1)
    assert rig.row(row_id).phase == ChangePhase.DONE


def test_lost_subscription_ends_no_move(rig: Rig, lab: dict[str, Pool]) -> None:
    data = rig.volume("data", lab["standard"])
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(seconds=4)
    rig.arm.estate.subscriptions.remove(FURTHER)
    rig.pass_time(minutes=20)
    assert rig.row(row_id).phase == ChangePhase.WORKING
    assert "SubscriptionNotFound" in rig.card(row_id)
    rig.arm.estate.subscriptions.append(FURTHER)
    rig.pass_time(hours=1)
    assert (rig.row(row_id).phase, data.pool) == (ChangePhase.DONE, lab["premium"])


def test_subscription_no_longer_configured_is_not_asked(rig: Rig, lab: dict[str, Pool]) -> None:
    rig.volume("data", lab["standard"])
    row_id = rig.ask(level("data", "Premium", seconds=25 * 3600))
    rig.pass_time(minutes=5)
    known, told = rig.policy, rig.policy.model_dump()
    told["anf"]["other_subscriptions"] = {}
    rig.policy = Settings.model_validate(told)
    asked = len(rig.arm.asked())
    rig.pass_time(hours=26)
    assert rig.row(row_id).phase == ChangePhase.WORKING
    assert f"Subscription {FURTHER} is not configured." in rig.card(row_id)
    assert len(rig.arm.asked()) == asked
    rig.policy = known
    rig.pass_time(hours=1)
    assert rig.row(row_id).phase == ChangePhase.RETURNED
