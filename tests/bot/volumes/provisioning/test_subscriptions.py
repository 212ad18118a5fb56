"""Pools that are created and deleted where two subscriptions have an account of one name."""

import pytest
from msgspec import structs

from bot.audit import lines_about
from bot.errors import ConflictError, UsageError
from bot.volumes.provisioning.plan import PoolOrder, written
from bot.volumes.provisioning.tables import PoolPhase
from playground.arm.estate import FURTHER, SUBSCRIPTION, Account
from tests.bot.volumes.changes.rig import level
from tests.bot.volumes.provisioning.provisioning import ACCOUNT, Provisioning, create, delete


@pytest.fixture
def lab(pools: Provisioning) -> Account:
    """The account of the second subscription."""
    account = pools.arm.estate.add_account(subscription=FURTHER)
    pools.set(other_subscriptions={FURTHER: [ACCOUNT]})
    return account


def there(order: PoolOrder) -> PoolOrder:
    """The same order in the second subscription."""
    return structs.replace(order, subscription=FURTHER)


def refusal(pools: Provisioning, named: str | None) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        pools.service_of_pools.account(named)
    return caught.value.message, caught.value.hint


@pytest.mark.usefixtures("lab")
def test_account_of_two_subscriptions_has_to_be_told(pools: Provisioning) -> None:
    hint = f"Add `--account` with one of: {SUBSCRIPTION}/{ACCOUNT}, {FURTHER}/{ACCOUNT}."
    assert refusal(pools, None) == ("There are several accounts.", hint)
    assert refusal(pools, ACCOUNT) == (f"Several subscriptions have {ACCOUNT}.", hint)
    assert refusal(pools, "lab/ml") == ("lab/ml is not configured.", hint)
    found = pools.service_of_pools.account(f"{FURTHER}/{ACCOUNT}")
    assert found == (FURTHER, ACCOUNT)


def test_account_of_one_subscription_needs_none(pools: Provisioning, lab: Account) -> None:
    lab.name = "other"
    pools.set(other_subscriptions={FURTHER: ["ml-platform/other"]})
    assert pools.service_of_pools.account("ML-platform/other") == (FURTHER, "ml-platform/other")
    assert pools.service_of_pools.account(ACCOUNT) == (SUBSCRIPTION, ACCOUNT)


def test_pools_of_one_name_are_created_in_both(pools: Provisioning, lab: Account) -> None:
    assert f"Subscription  `{FURTHER}`" in pools.offer(there(create()))
    rows = [pools.request(create()), pools.request(there(create()))]
    for each, row_id in zip((SUBSCRIPTION, FURTHER), rows, strict=True):
        assert f"Subscription `{each}`" in pools.shown(row_id)
    for row_id in rows:
        pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert [pools.ended(row_id) for row_id in rows] == [(PoolPhase.DONE, "")] * 2
    made = [each for each in pools.arm.estate.pools if each.name == "premium-2"]
    assert [each.account.subscription for each in made] == [SUBSCRIPTION, FURTHER]
    row_id = pools.request(there(delete("premium-2")))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    left = [each for each in pools.arm.estate.pools if each.name == "premium-2"]
    assert [each.account.subscription for each in left] == [SUBSCRIPTION]
    assert list(pools.arm.estate.pools_of(lab)) == []


@pytest.mark.usefixtures("lab")
def test_audit_tells_pools_of_one_name_apart(pools: Provisioning) -> None:
    row_id = pools.request(there(create()))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    lines = pools.do(lambda session: lines_about(session, row_id))
    assert [(e.verb, e.facts["subscription"]) for e in lines if e.verb.startswith("anf.")] == [
        ("anf.pool_create", FURTHER), ("anf.pool_create_ended", FURTHER),
    ]  # fmt: skip


@pytest.mark.usefixtures("lab")
def test_change_of_another_subscription_keeps_no_pool(pools: Provisioning) -> None:
    rows = [pools.request(create()), pools.request(there(create()))]
    for row_id in rows:
        pools.decides(row_id)
    pools.pass_time(minutes=5)
    pools.volume("data", pools.arm.standard)
    pools.ask(level("data", "Premium", pool="premium-2"))
    pools.pass_time(seconds=4)
    pools.offer(there(delete("premium-2")))
    with pytest.raises(ConflictError) as caught:
        pools.offer(delete("premium-2"))
    assert caught.value.message == (
        "A change of PVC data uses pool premium-2. Nothing was changed."
    )


@pytest.mark.usefixtures("lab")
def test_subscription_that_went_is_told(pools: Provisioning) -> None:
    row_id = pools.request(there(create()))
    pools.decides(row_id)
    pools.arm.app.routes.operations.outcomes = ["never"]
    pools.pass_time(seconds=10)
    pools.set()
    pools.pass_time(minutes=5)
    assert pools.ended(row_id) == (
        PoolPhase.FAILED,
        (f"Subscription {FURTHER} is no longer configured. What Azure has accepted goes on there."),
    )


@pytest.mark.usefixtures("lab")
def test_lost_subscription_deletes_nothing(pools: Provisioning) -> None:
    row_id = pools.request(there(create()))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    row_id = pools.request(there(delete("premium-2")))
    pools.arm.estate.subscriptions.remove(FURTHER)
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert pools.pool_request(row_id).phase == PoolPhase.WORKING
    pools.arm.estate.subscriptions.append(FURTHER)
    pools.pass_time(hours=1)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")


@pytest.mark.usefixtures("lab")
def test_button_of_an_earlier_release_means_the_first(pools: Provisioning) -> None:
    order = pools.service_of_pools.order(f'{{"v":"delete","a":"{ACCOUNT}","p":"spare"}}')
    assert order == delete("spare")
    assert pools.service_of_pools.order(written(there(delete("spare")))) == there(delete("spare"))


def test_button_that_nothing_reads_is_outdated(pools: Provisioning) -> None:
    with pytest.raises(UsageError) as caught:
        pools.service_of_pools.order('{"v":"delete"}')
    assert caught.value.message == "This button is out of date."
    assert caught.value.hint == "Request it again: `/anf pool`."
