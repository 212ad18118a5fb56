"""Two subscriptions whose accounts have one name: told apart, and neither hides the other."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.config import Settings
from bot.errors import ConflictError, StorageError
from bot.findings import Finding
from bot.volumes.anf import NetAppFiles
from bot.volumes.checking import checks
from bot.volumes.deadline import Deadline
from bot.volumes.matching import Named, refuse_unread
from bot.volumes.operations import Operations
from bot.volumes.resources import PoolPlace, VolumePlace
from playground.arm.estate import ACCOUNT, FURTHER, GIB, GROUP, SUBSCRIPTION, TIB, Pool
from tests.arm import Arm
from tests.bot.volumes.settings import settings_for

OURS = f"{GROUP}/{ACCOUNT}"
HERE, THERE = (PoolPlace(each, GROUP, ACCOUNT, "premium") for each in (SUBSCRIPTION, FURTHER))
_SOON = 2.0


def settings(arm: Arm) -> Settings:
    return settings_for(arm, accounts=[OURS], other_subscriptions={FURTHER: [OURS]})


def forever() -> Deadline:
    return Deadline(600)


@pytest.fixture
def lab(arm: Arm) -> Pool:
    """A pool of the second subscription, with the names of one in the first."""
    return arm.estate.add_pool(arm.estate.add_account(subscription=FURTHER), "premium", "Ultra", 1)


@pytest.fixture
def both(arm: Arm, identity: None, lab: Pool) -> Iterator[NetAppFiles]:  # noqa: ARG001 - they have to be there
    with closing(NetAppFiles(lambda: settings(arm))) as files:
        yield files


def test_pools_of_one_name_stay_apart(arm: Arm, both: NetAppFiles, lab: Pool) -> None:
    arm.estate.add_volume(arm.premium, "data", 100 * GIB)
    arm.estate.add_volume(lab, "data", 200 * GIB)
    estate = both.estate(forever())
    found = {each.place: each for each in estate.pools if each.name == "premium"}
    assert {place: each.level for place, each in found.items()} == {HERE: "Premium", THERE: "Ultra"}
    assert [estate.taken_bytes(found[each]) // GIB for each in (HERE, THERE)] == [100, 200]
    assert estate.unread == ()
    volumes = [both.volume(VolumePlace(*each, "data")) for each in (HERE, THERE)]
    assert [each.quota_bytes // GIB for each in volumes if each] == [100, 200]


def test_change_reaches_only_its_subscription(arm: Arm, both: NetAppFiles, lab: Pool) -> None:
    operation = Operations(both).resize(THERE, 2 * TIB)
    assert f"/subscriptions/{FURTHER}/" in operation
    arm.later()
    assert Operations(both).progress(operation).is_done
    assert (lab.size, arm.premium.size) == (2 * TIB, 2 * TIB)
    assert [each.about.count("premium") for each in arm.ledger.requests if each.number] == [1]


def test_account_that_is_not_named_is_not_read(arm: Arm, both: NetAppFiles) -> None:
    other = arm.estate.add_account(name="other", subscription=FURTHER)
    arm.estate.add_pool(other, "secret", "Ultra", 1)
    assert "secret" not in {each.name for each in both.estate(forever()).pools}


def test_subscription_that_refuses_hides_no_other(arm: Arm, both: NetAppFiles) -> None:
    arm.app.routes.permissions_in(FURTHER).actions = []
    estate = both.estate(forever())
    assert [each.name for each in estate.pools] == ["standard", "premium", "ultra", "tuned"]
    (unread,) = estate.unread
    assert unread.sentence.startswith(
        f"Subscription {FURTHER} could not be read. Listing the capacity pools of account"
        f" {ACCOUNT}: Azure returned AuthorizationFailed: The client"
    )
    assert unread.hint == (
        "A platform admin has to give the bot's Azure identity the role in docs/anf.md."
    )


def test_silent_subscription_is_left_at_the_deadline(arm: Arm, both: NetAppFiles) -> None:
    both.estate(forever())
    arm.app.silent = {FURTHER}
    late = both.estate(Deadline(_SOON))
    assert len(late.pools) == 4
    assert late.unread[0].sentence == (
        f"Subscription {FURTHER} could not be read. Azure took longer than 2 s. The request was"
        " cancelled."
    )
    again = both.estate(forever())  # which would wait for ever, if it asked
    assert [each.why for each in again.unread] == ["Azure has not answered an earlier request yet."]
    arm.app.silent = set()


def test_late_subscription_is_read_again(arm: Arm, both: NetAppFiles) -> None:
    both.estate(forever())
    arm.app.silent = {FURTHER}
    assert both.estate(Deadline(_SOON)).unread != ()
    arm.app.silent = set()
    while both.estate(forever()).unread:
        pass
    assert len(both.estate(forever()).pools) == 5


def test_all_refusing_is_an_error_that_names_them(arm: Arm, both: NetAppFiles) -> None:
    arm.app.routes.permissions_in(FURTHER).actions = []
    arm.app.routes.permissions.actions = []
    with pytest.raises(StorageError) as caught:
        both.estate(forever())
    for each in (SUBSCRIPTION, FURTHER):
        assert f"Subscription {each} could not be read. Listing the" in caught.value.message
    assert caught.value.status == 403


def test_lost_subscription_proves_nothing_gone(arm: Arm, both: NetAppFiles) -> None:
    arm.estate.subscriptions.remove(FURTHER)
    with pytest.raises(StorageError) as caught:
        both.pool(THERE)
    assert caught.value.message == (
        "Reading pool premium: Azure returned SubscriptionNotFound: The subscription"
        f" '{FURTHER}' could not be found."
    )
    assert caught.value.hint == (
        "A platform admin has to check anf.subscription and anf.other_subscriptions in"
        " quartermaster.yaml."
    )
    assert both.pool(HERE._replace(pool="none")) is None


def test_subscription_that_is_not_configured_is_not_asked(arm: Arm, both: NetAppFiles) -> None:
    unknown = "22222222-2222-2222-2222-222222222222"
    with pytest.raises(StorageError) as caught:
        both.pool(HERE._replace(subscription=unknown))
    assert caught.value.message == f"Subscription {unknown} is not configured."
    assert arm.asked() == []


def test_volume_in_an_unread_subscription_is_in_doubt(
    arm: Arm, both: NetAppFiles, lab: Pool
) -> None:
    volume = arm.estate.add_volume(lab, "data", 100 * GIB)
    arm.app.routes.permissions_in(FURTHER).actions = []
    estate = both.estate(forever())
    ours = Named(arm.estate.volume_id(volume).replace(FURTHER, SUBSCRIPTION), "data")
    refuse_unread(ours, estate)
    for named in (
        Named(arm.estate.volume_id(volume).upper(), "data"),
        Named("", "data", "10.0.2.4"),
    ):
        with pytest.raises(StorageError) as caught:
            refuse_unread(named, estate)
        assert caught.value.message.startswith(f"Subscription {FURTHER} could not be read.")


def test_doctor_tells_of_each_subscription(arm: Arm, both: NetAppFiles) -> None:
    arm.app.routes.permissions_in(FURTHER).actions = ["*/netAppAccounts/read", "*Pools/read"]
    found = list(checks(both))
    here, there = (f" of subscription {each}" for each in (SUBSCRIPTION, FURTHER))
    assert found == [
        Finding(f"azure netapp files{here}", "ok", "pools: standard, premium, ultra, tuned"),
        Finding(f"azure permissions in {GROUP}{here}", "ok", "all 3 are granted"),
        Finding(f"azure netapp files{there}", "ok", "pools: premium"),
        Finding(
            f"azure permissions in {GROUP}{there}",
            "failed",
            "missing: Microsoft.NetApp/netAppAccounts/capacityPools/volumes/read",
            "Give the bot's Azure identity the role in docs/anf.md for that resource group.",
        ),
    ]


def test_doctor_names_the_setting_of_an_empty_subscription(
    arm: Arm, both: NetAppFiles, lab: Pool
) -> None:
    arm.estate.pools.remove(lab)
    assert [each for each in checks(both) if each.state == "warning"] == [
        Finding(
            f"azure netapp files of subscription {FURTHER}",
            "warning",
            "the bot can see no capacity pools",
            "Name the accounts in anf.other_subscriptions, or create a capacity pool.",
        )
    ]


def test_doctor_goes_on_after_a_refusal(arm: Arm, both: NetAppFiles) -> None:
    arm.app.routes.permissions.actions = []
    assert [each.state for each in checks(both)] == ["failed", "ok", "ok"]


def test_settings_that_change_open_new_clients(arm: Arm, identity: None, lab: Pool) -> None:  # noqa: ARG001 - they have to be there
    known = [settings_for(arm)]
    with closing(NetAppFiles(lambda: known[0])) as files:
        assert len(files.estate(forever()).pools) == 4
        known[0] = settings(arm)
        assert len(files.estate(forever()).pools) == 5
        known[0] = known[0].model_copy(update={"anf": None})
        with pytest.raises(ConflictError):
            files.estate(forever())
