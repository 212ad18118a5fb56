"""Capacity pools: shown with their cost, approved by another, created and deleted once."""

from typing import Any

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import (
    ConflictError,
    LimitError,
    NotAllowedError,
    NotFoundError,
    StorageError,
    UserError,
)
from bot.volumes.operations import Operations
from bot.volumes.provisioning.plan import TIB
from bot.volumes.provisioning.tables import PoolPhase
from playground.arm.estate import GIB, SUBSCRIPTION
from playground.ledger import Fault
from tests.bot.volumes.changes.rig import BOB, CAROL, level
from tests.bot.volumes.provisioning.provisioning import (
    INSTALLATION,
    Provisioning,
    create,
    delete,
)

NOTHING = "Nothing was changed."


def refusal(pools: Provisioning, order: Any) -> str:
    with pytest.raises(UserError) as caught:
        pools.offer(order)
    return caught.value.message


def made(pools: Provisioning, name: str = "premium-2") -> str:
    """A pool that was created and approved; the id of its request."""
    row_id = pools.request(create(name))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    return row_id


def test_the_cost_is_shown_first(pools: Provisioning) -> None:
    assert [" ".join(each.split()) for each in pools.offer(create()).splitlines()] == [
        "Create capacity pool premium-2?",
        "Azure bills the whole pool from its creation, whatever it holds.",
        "An approver other than you has to approve it.",
        "Account `ml-platform/ml`",
        "Level Premium",
        "QoS Auto",
        "Size 4 TiB",
        "Monthly cost 1,187.84 more",
        "[Request it]",
    ]
    flexible = create("flex", 2, level="Flexible", qos="Manual", mibps=256)
    told = [" ".join(each.split()) for each in pools.offer(flexible).splitlines()]
    assert told[5:8] == [
        "QoS Manual, 256 MiB/s",
        "Size 2 TiB",
        "Monthly cost unknown: anf.price_per_gib_month has no price of its level",
    ]
    assert pools.asked() == []


def test_an_approved_pool_is_created_with_our_tags(pools: Provisioning) -> None:
    row_id = pools.request(create(qos="Manual"))
    pools.pass_time(minutes=5)
    assert pools.asked() == []
    assert pools.shown(row_id) == [
        "⏳ Create capacity pool premium-2 · Waiting for approval",
        "Azure bills the whole pool from its creation, whatever it holds.",
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0BOB can decide.",
        "Account `ml-platform/ml`",
        "Level Premium",
        "QoS Manual",
        "Size 4 TiB",
        "Monthly cost 1,187.84 more",
        "Requested by Carol in #C0APPROVE",
        "[Approve] [Deny] [Withdraw]",
    ]
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    pool = pools.named("premium-2")
    assert pool is not None
    assert (pool.level, pool.size, pool.qos) == ("Premium", 4 * TIB, "Manual")
    assert pool.tags == {
        "quartermaster-installation": INSTALLATION, "quartermaster-request": row_id,
    }  # fmt: skip
    assert pools.asked() == ["PUT capacityPools"]
    assert pools.shown(row_id)[0] == "✅ Create capacity pool premium-2 · Done"
    assert pools.notes(row_id) == {
        "ended": f"<@{CAROL}> Pool `premium-2` is created. Azure bills it from now on."
    }
    told = pools.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("anf.pool_create", CAROL), ("approval.approve", BOB), ("anf.pool_create_ended", None),
    ]  # fmt: skip


def test_own_empty_pools_are_deleted(pools: Provisioning) -> None:
    made(pools)
    told = [" ".join(each.split()) for each in pools.offer(delete("premium-2")).splitlines()]
    assert told[0] == "Delete capacity pool premium-2?"
    assert told[-2:] == ["Monthly cost 1,187.84 less", "[Request it]"]
    row_id = pools.request(delete("premium-2"))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert pools.named("premium-2") is None
    assert pools.asked() == ["PUT capacityPools", "DELETE capacityPools"]
    assert pools.notes(row_id) == {
        "ended": f"<@{CAROL}> Pool `premium-2` is deleted. Its bill ends."
    }


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_change_nothing_twice(pools: Provisioning, fault: Fault) -> None:
    pools.arm.ledger.by_turn = {
        (name, 1): fault for name in ("PUT capacityPools", "DELETE capacityPools")
    }
    made(pools)
    row_id = pools.request(delete("premium-2"))
    pools.decides(row_id)
    pools.pass_time(minutes=10)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    assert len(pools.arm.app.routes.operations.all) == 2
    assert pools.named("premium-2") is None


def test_every_step_outlives_restarts(pools: Provisioning) -> None:
    row_id = pools.request(create())
    pools.restart()
    pools.decides(row_id)
    for _ in range(10):
        pools.restart()
        pools.pass_time(seconds=3)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    assert pools.asked() == ["PUT capacityPools"]


def test_throttling_and_conflicts_are_waited_out(pools: Provisioning) -> None:
    row_id = pools.request(create())
    pools.decides(row_id)
    pools.arm.app.too_many, pools.arm.app.conflicts = 3, 2
    pools.pass_time(minutes=30)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    assert len(pools.arm.app.routes.operations.all) == 1


@pytest.mark.parametrize("outcome", ["Failed", "Canceled"])
def test_failed_creations_are_told(pools: Provisioning, outcome: Any) -> None:
    row_id = pools.request(create())
    pools.decides(row_id)
    pools.arm.app.routes.operations.outcomes = [outcome]
    pools.pass_time(minutes=5)
    phase, reason = pools.ended(row_id)
    assert phase == PoolPhase.FAILED
    assert reason.startswith("Azure could not create pool premium-2.")
    assert "Delete it: `/anf pool delete premium-2`." in pools.shown(row_id)
    row_id = pools.request(delete("premium-2"))
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")
    assert pools.named("premium-2") is None


def test_what_never_ends_is_late(pools: Provisioning) -> None:
    row_id = pools.request(create())
    pools.decides(row_id)
    pools.arm.app.routes.operations.outcomes = ["never"]
    pools.pass_time(hours=2)
    assert "Azure takes longer than an hour, and offers no way to cancel it." in pools.shown(row_id)
    (going,) = pools.arm.app.routes.operations.all.values()
    going.outcome = "Succeeded"
    pools.pass_time(minutes=5)
    assert pools.ended(row_id) == (PoolPhase.DONE, "")


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_pool_that_vanishes_is_not_awaited(pools: Provisioning, *, is_forgotten: bool) -> None:
    row_id = pools.request(create())
    pools.decides(row_id)
    operations = pools.arm.app.routes.operations
    operations.outcomes = ["never"]
    pools.pass_time(seconds=10)
    (going,) = operations.all.values()
    going.outcome = "Succeeded"
    pools.arm.estate.pools = [each for each in pools.arm.estate.pools if each.name != "premium-2"]
    if is_forgotten:
        operations.all.clear()
    pools.pass_time(minutes=50)
    assert pools.ended(row_id) == (PoolPhase.WORKING, "")
    pools.pass_time(minutes=20)
    said = "Azure has ended its operation, and shows no pool premium-2."
    assert pools.ended(row_id) == (PoolPhase.FAILED, said)
    assert pools.asked() == ["PUT capacityPools"]
    made(pools)


def test_azures_refusals_end_the_request(pools: Provisioning) -> None:
    row_id = pools.request(create())
    pools.arm.estate.quota = 12 * TIB
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    phase, reason = pools.ended(row_id)
    assert phase == PoolPhase.FAILED
    assert reason.startswith("Creating pool premium-2: Azure returned BadRequest: Regional")
    assert pools.named("premium-2") is None


def test_pools_with_volumes_are_never_deleted(pools: Provisioning) -> None:
    made(pools)
    row_id = pools.request(delete("premium-2"))
    pool = pools.named("premium-2")
    assert pool is not None
    pools.arm.estate.add_volume(pool, "late", 100 * GIB)
    assert refusal(pools, create("premium-2")).startswith("<@U0CAROL> already requested to delete")
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    said = "Pool premium-2 has 1 volume: late. It was not deleted."
    assert pools.ended(row_id) == (PoolPhase.FAILED, said)
    assert refusal(pools, delete("premium-2")) == f"Pool premium-2 has 1 volume: late. {NOTHING}"
    assert pools.asked() == ["PUT capacityPools"]


def test_azure_itself_refuses_to_delete_volumes(pools: Provisioning) -> None:
    pools.arm.estate.add_volume(pools.arm.ultra, "late", 100 * GIB)
    with pytest.raises(StorageError) as caught:
        Operations(pools.files).delete_pool(delete("ultra").place)
    assert (caught.value.status, caught.value.code) == (409, "CannotDeleteResource")


def test_pools_of_others_stay_unless_allowed(pools: Provisioning) -> None:
    assert refusal(pools, delete("ultra")) == (
        f"Pool ultra was not created by Quartermaster. {NOTHING}"
    )
    pools.set({"deletes": "any"})
    told = pools.offer(delete("ultra"))
    assert "It was not created by Quartermaster: check that it is not reserved" in told
    for named in ("ultra", "Ultra"):
        pools.set({"deletes": "any"}, classes={"fast": [named]})
        assert refusal(pools, delete("ultra")) == (
            f"anf.classes names pool ultra for class fast. {NOTHING}"
        )


def test_another_pool_of_that_name_stays(pools: Provisioning) -> None:
    made(pools)
    row_id = pools.request(delete("premium-2"))
    pools.arm.estate.pools = [each for each in pools.arm.estate.pools if each.name != "premium-2"]
    pools.arm.estate.add_pool(pools.arm.premium.account, "premium-2", "Premium", 4)
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    said = "Pool premium-2 is now a different pool of the same name. It was not deleted."
    assert pools.ended(row_id) == (PoolPhase.FAILED, said)


def test_a_pool_that_appears_meanwhile_is_left_alone(pools: Provisioning) -> None:
    row_id = pools.request(create())
    pools.arm.estate.add_pool(pools.arm.premium.account, "premium-2", "Standard", 1)
    pools.decides(row_id)
    pools.pass_time(minutes=5)
    said = "Pool premium-2 exists, and was not created for this request."
    assert pools.ended(row_id) == (PoolPhase.FAILED, said)
    assert pools.asked() == []


def test_pools_that_a_change_uses_stay(pools: Provisioning) -> None:
    made(pools)
    pools.volume("data", pools.arm.standard)
    pools.ask(level("data", "Premium", pool="premium-2"))
    assert refusal(pools, delete("premium-2")) == (
        f"A change of PVC data uses pool premium-2. {NOTHING}"
    )


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (create("premium"), "Account ml-platform/ml already has a pool premium: Premium, 2 TiB."),
        (create(tebibytes=101), "Pools of at most 100 TiB can be requested here."),
        (create(level="Flexible"), "Flexible pools have manual QoS."),
        (create(mibps=256), "`--throughput` is for Flexible pools: from 128 MiB/s to 640 MiB/s"),
        (create(level="Flexible", qos="Manual", mibps=2561), "`--throughput` is for Flexible"),
        (delete("none"), "Account ml-platform/ml has no pool none."),
    ],
)
def test_what_cannot_be_is_refused(pools: Provisioning, order: Any, said: str) -> None:
    assert refusal(pools, order).startswith(said)


def test_it_is_off_and_confined_by_default(pools: Provisioning) -> None:
    pools.set({}, pool_creation=None)
    assert refusal(pools, create()) == "Creating and deleting capacity pools is switched off."
    pools.set({}, accounts=[])
    assert refusal(pools, create()) == (
        "Capacity pools are created and deleted only in accounts that anf.accounts names."
    )
    pools.set({}, accounts=["other/ml", "more/ml"])
    assert refusal(pools, create()) == "ml-platform/ml is not configured."


def test_without_other_approvers_nothing_is_requested(pools: Provisioning) -> None:
    told = pools.policy.model_dump()
    told["approvals"]["anf_pool"]["approvers"] = {"people": [CAROL]}
    pools.policy = type(pools.policy).model_validate(told)
    with pytest.raises(LimitError) as caught:
        pools.request(create())
    assert "approvals.anf_pool" in caught.value.hint


@pytest.mark.parametrize(
    ("end", "phase"),
    [
        ("deny", PoolPhase.DENIED),
        ("expire", PoolPhase.EXPIRED),
        ("withdraw", PoolPhase.WITHDRAWN),
    ],
)
def test_what_is_not_approved_is_not_created(
    pools: Provisioning, end: str, phase: PoolPhase
) -> None:
    row_id = pools.request(create())
    with pytest.raises(NotAllowedError):
        pools.decides(row_id, person=CAROL)
    if end == "deny":
        pools.decides(row_id, Verdict.DENY)
    elif end == "withdraw":
        pools.withdraws(row_id)
    pools.pass_time(hours=25)
    assert pools.ended(row_id) == (phase, "")
    assert pools.asked() == []
    with pytest.raises(ConflictError):
        pools.withdraws(row_id)


def test_settings_and_rights_of_today_count(pools: Provisioning) -> None:
    switched, former = pools.request(create()), pools.request(create("premium-3"))
    pools.set({}, pool_creation=None)
    pools.decides(switched)
    pools.pass_time(minutes=2)
    said = "Creating and deleting capacity pools is switched off."
    assert pools.ended(switched) == (PoolPhase.FAILED, said)
    pools.set()
    told = pools.policy.model_dump()
    told["admins"] = {"people": [BOB]}
    pools.policy = type(pools.policy).model_validate(told)
    pools.decides(former)
    pools.pass_time(minutes=2)
    said = f"<@{CAROL}> is no longer a platform admin."
    assert pools.ended(former) == (PoolPhase.FAILED, said)
    assert pools.asked() == []


def test_what_settings_forbid_meanwhile_is_not_done(pools: Provisioning) -> None:
    pools.set({"deletes": "any"})
    foreign, large = pools.request(delete("ultra")), pools.request(create(tebibytes=50))
    pools.set({"largest_tib": 10})
    pools.decides(foreign)
    pools.decides(large)
    pools.pass_time(minutes=5)
    said = f"Pool ultra was not created by Quartermaster. {NOTHING}"
    assert pools.ended(foreign) == (PoolPhase.FAILED, said)
    said = "Pools of at most 10 TiB can be requested here."
    assert pools.ended(large) == (PoolPhase.FAILED, said)
    assert pools.asked() == []


def test_another_subscription_is_never_asked(pools: Provisioning) -> None:
    made(pools)
    row_id = pools.request(delete("premium-2"))
    pools.set({}, subscription="11111111-1111-1111-1111-111111111111")
    pools.decides(row_id)
    pools.pass_time(minutes=2)
    phase, reason = pools.ended(row_id)
    assert phase == PoolPhase.FAILED
    assert reason == f"Subscription {SUBSCRIPTION} is not configured."
    assert pools.named("premium-2") is not None


def test_missing_pools_are_not_found(pools: Provisioning) -> None:
    with pytest.raises(NotFoundError) as caught:
        pools.offer(delete("none"))
    assert caught.value.hint == "`/anf pools` shows what exists."
