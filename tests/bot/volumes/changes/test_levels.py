"""Volumes that go to another level, and come back: room, cost, approval, and Azure's wait."""

from datetime import timedelta

import pytest

from bot.approvals import Verdict
from bot.errors import UserError
from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import GIB, TIB
from tests.bot.volumes.changes.rig import APPROVE, BOB, CAROL, ERIN, Rig, level
from tests.databases import ON_BOTH

HOUR = 3600


def refusal(rig: Rig, claim: str, wanted: str, **more: str) -> str:
    with pytest.raises(UserError) as caught:
        rig.plan(level(claim, wanted, **more))
    return f"{caught.value.message} {caught.value.hint}"


def test_move_into_a_pool_with_room(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    assert rig.question(level("data", "Premium")).splitlines() == [
        "data: Premium?",
        (
            "Pods that mount the volume keep running. Filling all of its 1 TiB takes at least"
            " 17h 46m now and 4h 26m afterwards."
        ),
        "Pool standard keeps its size and its cost; --shrink makes it smaller.",
        "  From        Standard, pool standard",
        "  To          Premium, pool premium",
        "  Throughput  16.4 MiB/s → about 65.5 MiB/s",
        "  Cost        unchanged: no pool changes its size",
        "  [Apply]",
    ]
    row_id = rig.ask(level("data", "Premium"))
    rig.pass_time(minutes=1)
    assert data.pool is rig.arm.premium
    assert rig.effects() == ["POST poolChange"]
    assert rig.notes(row_id) == {
        "ended": f"<@{ERIN}> `data` is on Premium, in pool premium: 65.5 MiB/s."
    }
    assert rig.row(row_id).phase == ChangePhase.DONE


@ON_BOTH
def test_growth_is_shown_approved_and_put_back(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    rig.arm.estate.add_volume(rig.arm.premium, "other", 1536 * GIB)
    asked = level("data", "Premium", pool="premium", is_shrinking=True, seconds=36 * HOUR)
    assert rig.question(asked).splitlines()[1:3] == [
        "Pool premium grows from 2 TiB to 3 TiB first.",
        "Pool standard then shrinks from 4 TiB to 3 TiB.",
    ]
    row_id = rig.ask(asked, reason="deadline")
    rig.pass_time(hours=1)
    assert rig.effects() == []
    assert rig.card(row_id, APPROVE).splitlines() == [
        "⏳ team-a/data to Premium (pool premium) · Waiting for approval",
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0BOB or @U0CAROL can decide.",
        "  From          Standard, pool standard",
        "  To            Premium, pool premium",
        "  Throughput    16.4 MiB/s → about 65.5 MiB/s",
        "  Cost          143.36 more a month",
        "  Target pool   premium: 2 TiB → 3 TiB",
        "  Source pool   standard: to 3 TiB",
        "  Until         1d 12h after it takes effect, or later if a run uses it then",
        "  Requested by  Erin in #C0TEAMA",
        "  [Approve] [Deny]",
        f"Change `{row_id[-6:]}`",
    ]
    rig.vote(row_id)
    rig.pass_time(minutes=5)
    sizes = (rig.arm.standard.size, rig.arm.premium.size)
    assert (data.pool, sizes) == (rig.arm.premium, (3 * TIB, 3 * TIB))
    rig.pass_time(hours=37)
    sizes = (rig.arm.standard.size, rig.arm.premium.size)
    assert (data.pool, sizes) == (rig.arm.standard, (4 * TIB, 2 * TIB))
    there = ["PATCH capacityPools", "POST poolChange", "PATCH capacityPools"]
    assert rig.effects() == [*there, *there]
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_way_down_waits_as_azure_does(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    asked = level("data", "Premium", seconds=HOUR)
    assert (
        "Azure allows a lower level no sooner than 1d after a volume went up: it is reverted"
        " after 1d." in rig.question(asked)
    )
    row_id = rig.ask(asked)
    rig.pass_time(hours=2)
    assert data.pool is rig.arm.premium
    assert "Reverts       2026-11-22 12:00 UTC, when Azure allows a lower level" in rig.card(row_id)
    rig.pass_time(hours=23)
    assert data.pool is rig.arm.standard
    assert rig.effects() == ["POST poolChange", "POST poolChange"]


def test_longer_wait_of_azure_is_waited_out(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium", seconds=HOUR))
    rig.pass_time(hours=2)
    data.raised_at = rig.clock.moment + timedelta(hours=5)
    rig.pass_time(hours=24)
    assert data.pool is rig.arm.premium
    told = rig.card(row_id)
    assert told.startswith("⚠️ team-a/data to Premium (pool premium) · Reverting: moving")
    assert "Azure returned BadRequest: The service level of the volume cannot be decreased" in told
    assert "Next attempt: 2026-11-22 14:00 UTC." in told
    rig.pass_time(hours=8)
    assert data.pool is rig.arm.standard
    assert list(rig.notes(row_id)) == ["effect", "not-returned", "ended"]


def test_later_move_down_is_refused_until_then(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    rig.ask(level("data", "Premium"))
    rig.pass_time(hours=1)
    assert refusal(rig, "data", "Standard").startswith(
        "The volume recently went up to Premium. Azure allows a lower level again from"
        " 2026-11-22 12:00 UTC."
    )
    rig.pass_time(hours=24)
    assert rig.plan(level("data", "Standard")).target.name == "standard"


def test_trident_that_cannot_be_told_stops_moves(rig: Rig) -> None:
    rig.of_trident("lane", rig.arm.standard)
    assert refusal(rig, "lane", "Premium").startswith(
        "Trident created this volume, and could not be told of a move:"
    )
    rig.volume("kept", rig.arm.standard).tags["trident"] = '{"trident": {"backendUUID": "b-1"}}'
    assert "keeps its record for another PV" in refusal(rig, "kept", "Premium")


def test_what_does_not_fit_is_said(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    rig.arm.ultra.encryption = "Double"
    assert refusal(rig, "data", "Standard").startswith("The volume is already on Standard")
    assert refusal(rig, "data", "Premium", pool="premiun") == (
        "Account ml has no pool premiun. Did you mean premium?"
    )
    assert refusal(rig, "data", "Ultra", pool="premium").startswith("Pool premium is Premium, not")
    assert refusal(rig, "data", "Flexible").startswith("Account ml has no other pool of level")
    assert refusal(rig, "data", "Ultra").startswith(
        "Pool ultra has encryption Double, but standard has Single"
    )


def test_denied_and_withdrawn_change_nothing(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard, 3072)
    first = rig.ask(level("data", "Premium", pool="premium"))
    rig.run()
    rig.vote(first, Verdict.DENY)
    rig.run()
    assert rig.row(first).phase == ChangePhase.DENIED
    second = rig.ask(level("data", "Premium", pool="premium"))
    rig.run()
    rig.give_back(second)
    rig.pass_time(days=2)
    assert rig.row(second).phase == ChangePhase.WITHDRAWN
    assert rig.notes(second)["ended"] == (
        f"<@{ERIN}> Withdrawn: data to Premium (pool premium). Nothing was changed."
    )
    assert rig.effects() == []


def test_approver_who_left_does_not_count(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard, 3072)
    row_id = rig.ask(level("data", "Premium", pool="premium"))
    rig.run()
    rig.vote(row_id)
    rig.gone.add(CAROL)
    rig.run()
    assert rig.effects() == []
    assert "An approver lost the right to approve, so a new approval is needed." in rig.card(row_id)
    rig.vote(row_id, who=BOB)
    rig.pass_time(minutes=1)
    assert data.pool is rig.arm.premium


def test_approver_who_left_while_it_waited(rig: Rig) -> None:
    first = rig.volume("one", rig.arm.standard)
    data = rig.volume("data", rig.arm.standard, 3072)
    rig.arm.app.routes.operations.outcomes = ["never"]
    rig.ask(level("one", "Ultra"))
    rig.pass_time(minutes=1)
    row_id = rig.ask(level("data", "Premium", pool="premium"))
    rig.run()
    rig.vote(row_id)
    rig.pass_time(minutes=5)
    assert rig.row(row_id).phase == ChangePhase.APPROVED
    rig.gone.add(CAROL)
    (going,) = rig.arm.app.routes.operations.all.values()
    going.outcome = "Succeeded"
    rig.pass_time(minutes=5)
    assert (first.pool, data.pool) == (rig.arm.ultra, rig.arm.standard)
    assert rig.row(row_id).phase == ChangePhase.ASKED
    assert "An approver lost the right to approve, so a new approval is needed." in rig.card(row_id)
    rig.vote(row_id, who=BOB)
    rig.pass_time(minutes=5)
    assert data.pool is rig.arm.premium


def test_more_growth_than_shown_is_not_done(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium", pool="premium"))
    rig.arm.estate.add_volume(rig.arm.premium, "other", 1536 * GIB)
    rig.pass_time(minutes=1)
    assert rig.row(row_id).phase == ChangePhase.REFUSED
    assert rig.row(row_id).outcome == (
        "Pool premium would now have to grow by 1 TiB, more than the 0 bytes that you were shown."
    )
    assert rig.effects() == []


def test_pool_that_fills_after_the_approval(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    rig.arm.estate.add_volume(rig.arm.premium, "other", 1536 * GIB)
    row_id = rig.ask(level("data", "Premium", pool="premium"))
    rig.run()
    rig.arm.premium.size = 3 * TIB
    rig.arm.estate.add_volume(rig.arm.premium, "more", TIB)
    rig.vote(row_id)
    rig.pass_time(minutes=1)
    assert rig.row(row_id).phase == ChangePhase.FAILED
    assert rig.row(row_id).outcome == (
        "Pool premium has changed since it was checked: it has 3 TiB, of which 2.5 TiB is taken."
    )
    assert rig.effects() == []


@ON_BOTH
def test_changes_of_one_pool_take_turns(rig: Rig) -> None:
    rig.volume("one", rig.arm.standard)
    rig.volume("two", rig.arm.standard)
    first, second = rig.ask(level("one", "Premium")), rig.ask(level("two", "Premium"))
    rig.pass_time(seconds=4)
    told = [rig.row(each).trouble for each in (first, second)]
    assert [each for each in told if each] == [
        f"Change {(first, second)[told.index('')][-6:]} is using the same pool."
    ]
    rig.pass_time(minutes=2)
    assert [each.pool for each in rig.arm.estate.volumes] == [rig.arm.premium] * 2
    assert [rig.row(each).phase for each in (first, second)] == [ChangePhase.DONE] * 2
