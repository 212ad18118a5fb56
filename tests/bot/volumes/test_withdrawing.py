"""Repairs and growths that wait for somebody's word, and are not wanted any more."""

from contextlib import suppress

import pytest

from bot.audit import lines_about
from bot.errors import ConflictError, NotAllowedError
from bot.volumes.growths.tables import GrowthPhase as Grown
from bot.volumes.repairs.tables import RepairPhase as Repaired
from tests.bot.ground import BOB, CAROL, ERIN, TEAM_A, TEAM_B
from tests.bot.volumes.growths.growing import Growing
from tests.bot.volumes.repairs.repairing import APPROVE, Workshop


def waiting(growing: Growing) -> str:
    """A growth that has to be approved."""
    row_id = growing.grow("3Ti")
    growing.later(minutes=1)
    assert growing.growth(row_id).phase == Grown.ASKED
    return row_id


def test_withdrawn_growth_asks_for_nothing(growing: Growing) -> None:
    row_id = waiting(growing)
    assert growing.card_of(row_id).splitlines()[-1] == "  [Withdraw]"
    assert growing.card_of(row_id, APPROVE).splitlines()[-1] == "  [Approve] [Deny]"
    growing.take_back(row_id)
    growing.later(days=2)
    assert (growing.growth(row_id).phase, growing.effects()) == (Grown.WITHDRAWN, [])
    assert growing.notes(row_id) == {
        "ended": f"<@{ERIN}> The growth of `lane-data` was withdrawn. Nothing was changed."
    }
    card = growing.card_of(row_id, APPROVE).splitlines()
    assert card[:2] == ["⏹️ Grow lane-data to 3 TiB · Withdrawn", "Void: it was withdrawn."]
    assert f"  Withdrawn by  @{ERIN}" in card
    assert not card[-1].endswith("[Deny]")
    lines = growing.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in lines] == [
        ("anf.grow", ERIN), ("anf.withdraw", ERIN), ("anf.grow_ended", None),
    ]  # fmt: skip
    assert growing.grow("2Ti") != row_id


def test_withdrawn_growth_outlives_a_vote_and_a_look(growing: Growing) -> None:
    row_id = waiting(growing)
    growing.say(row_id)
    growing.take_back(row_id)
    growing.later(minutes=2)
    assert (growing.growth(row_id).phase, growing.effects()) == (Grown.WITHDRAWN, [])
    with pytest.raises(ConflictError):
        growing.say(row_id)
    unlooked = growing.grow("3Ti")
    growing.take_back(unlooked)
    growing.later(minutes=2)
    assert (growing.growth(unlooked).phase, growing.effects()) == (Grown.WITHDRAWN, [])


def test_growth_that_has_begun_goes_on(growing: Growing) -> None:
    row_id = growing.grow("2Ti")
    growing.until(lambda: not growing.growth(row_id).is_waiting)
    with pytest.raises(ConflictError) as caught:
        growing.take_back(row_id)
    assert caught.value.message == "The growth of lane-data has already started."
    growing.later(minutes=1)
    assert growing.growth(row_id).phase == Grown.DONE


def test_withdrawn_repair_writes_nothing(shop: Workshop) -> None:
    row_id = shop.ask()
    assert shop.shown(row_id).splitlines()[-1] == "  [Withdraw]"
    assert "[Withdraw]" not in shop.shown(row_id, APPROVE)
    shop.withdraw(row_id)
    shop.later(days=2)
    assert (shop.found(row_id).phase, shop.effects()) == (Repaired.WITHDRAWN, [])
    assert shop.notes(row_id) == {
        "ended": f"<@{CAROL}> The repair of `lane-data` was withdrawn. Nothing was changed."
    }
    with pytest.raises(ConflictError):
        shop.decide(row_id)
    with pytest.raises(ConflictError) as caught:
        shop.withdraw(row_id)
    assert caught.value.message == "The repair of lane-data has already ended."
    assert shop.ask() != row_id


def test_repair_of_the_approvers_own_is_withdrawn_there(shop: Workshop) -> None:
    row_id = shop.ask(by=shop.caller(CAROL, APPROVE, "team-a"))
    assert shop.shown(row_id, APPROVE).splitlines()[-1] == "  [Approve] [Deny] [Withdraw]"


def test_approved_repair_is_withdrawn_or_done(shop: Workshop) -> None:
    """Whoever comes first: the click or the step."""
    first = shop.approved()
    shop.withdraw(first)
    shop.later(minutes=1)
    assert (shop.found(first).phase, shop.effects()) == (Repaired.WITHDRAWN, [])
    second = shop.approved()
    while shop.found(second).is_waiting:
        shop.later(seconds=2)
    with suppress(ConflictError):
        shop.withdraw(second)
    shop.later(minutes=2)
    assert (shop.found(second).phase, shop.record()) == (Repaired.DONE, shop.place)


def test_other_teams_withdraw_nothing(growing: Growing) -> None:
    grown = waiting(growing)
    with pytest.raises(NotAllowedError):
        growing.take_back(grown, growing.caller(BOB, TEAM_B))
    growing.volume.pool = growing.arm.premium
    repaired = growing.ask()
    with pytest.raises(NotAllowedError):
        growing.withdraw(repaired, growing.caller(BOB, TEAM_B))
    growing.take_back(grown, growing.caller(CAROL, TEAM_A))
    assert growing.growth(grown).withdrawn_by == CAROL
