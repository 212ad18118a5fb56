"""Boosts as changes: they last as long as what they are for, and as long as Azure wants."""

import pytest
from sqlmodel import Session

from bot.config import AnfChanges
from bot.errors import ConflictError
from bot.slack.messages import Subject
from bot.volumes.changes import boosting, holds
from bot.volumes.changes.boosting import Boost
from bot.volumes.changes.tables import ChangePhase
from bot.volumes.records import ClaimPlace
from playground.arm.estate import GIB
from tests.bot.volumes.changes.rig import ERIN, TEAM_A, Rig, level

ALWAYS = AnfChanges(approve="always")
FILL = Subject("T0QM", "dataset-cache", "1")


def begun(rig: Rig, claim: str, growth_bytes: int = 0) -> str:
    """Erin has a volume boosted for the fill of chest-xray@v3."""
    place = ClaimPlace("default", "team-a", claim)
    wanted = Boost(
        FILL, "chest-xray@v3", "team-a", ERIN, TEAM_A, place, f"pv-{claim}", growth_bytes
    )
    return rig.do(lambda session: boosting.begin(session, wanted, rig.clock.now()))


def ends(rig: Rig) -> None:
    """The fill has ended."""
    rig.do(lambda session: holds.leave(session, (FILL.kind, FILL.id), rig.clock.now()))


def told(rig: Rig, row_id: str) -> str:
    def work(session: Session) -> str:
        return boosting.told(session, row_id)

    return rig.do(work)


def test_fill_longer_than_the_wait_keeps_it(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = begun(rig, "data")
    rig.pass_time(hours=26)
    assert data.pool is rig.arm.ultra
    assert told(rig, row_id) == "16.4 MiB/s → 131.1 MiB/s on Ultra until it is filled"
    assert rig.row(row_id).kept_for == "the fill of chest-xray@v3"
    ends(rig)
    rig.pass_time(minutes=5)
    assert data.pool is rig.arm.standard
    assert rig.row(row_id).phase == ChangePhase.RETURNED
    assert rig.notes(row_id) == {}


def test_pool_with_room_comes_before_faster_ones(rig: Rig) -> None:
    rig.arm.estate.add_volume(rig.arm.ultra, "other", 512 * GIB)
    data = rig.volume("data", rig.arm.standard)
    row_id = begun(rig, "data")
    rig.pass_time(minutes=2)
    assert data.pool is rig.arm.premium
    ends(rig)
    rig.pass_time(hours=25)
    assert (data.pool, rig.row(row_id).phase) == (rig.arm.standard, ChangePhase.RETURNED)


def test_boost_that_costs_is_approved_first(rig: Rig) -> None:
    for pool, gibibytes in ((rig.arm.ultra, 512), (rig.arm.premium, 1536)):
        rig.arm.estate.add_volume(pool, f"in-{pool.name}", gibibytes * GIB)
    data = rig.volume("data", rig.arm.standard)
    row_id = begun(rig, "data", growth_bytes=1024 * GIB)
    rig.pass_time(minutes=2)
    assert told(rig, row_id) == (
        "waiting for approval: 16.4 MiB/s → 65.5 MiB/s on Premium, 296.96 more a month"
    )
    rig.vote(row_id)
    rig.pass_time(minutes=3)
    assert (data.pool, rig.arm.premium.size) == (rig.arm.premium, 3072 * GIB)
    ends(rig)
    rig.pass_time(hours=25)
    assert (data.pool, rig.arm.premium.size) == (rig.arm.standard, 2048 * GIB)


def test_more_growth_than_shown_boosts_nothing(rig: Rig) -> None:
    for pool, gibibytes in ((rig.arm.ultra, 512), (rig.arm.premium, 1536)):
        rig.arm.estate.add_volume(pool, f"in-{pool.name}", gibibytes * GIB)
    rig.volume("data", rig.arm.standard)
    row_id = begun(rig, "data")
    rig.pass_time(minutes=2)
    assert rig.row(row_id).phase == ChangePhase.REFUSED
    assert told(rig, row_id).startswith("none. Pool premium would now have to grow by 1 TiB")
    assert rig.effects() == []


def test_approver_who_left_boosts_nothing(rig: Rig) -> None:
    rig.policy = rig.policy.model_copy(
        update={"anf": rig.policy.anf and rig.policy.anf.model_copy(update={"changes": ALWAYS})}
    )
    data = rig.volume("data", rig.arm.standard)
    row_id = begun(rig, "data")
    rig.pass_time(minutes=2)
    rig.gone = {"U0CAROL"}
    rig.vote(row_id)
    rig.pass_time(minutes=2)
    assert (data.pool, rig.row(row_id).phase) == (rig.arm.standard, ChangePhase.ASKED)
    ends(rig)
    rig.pass_time(minutes=2)
    assert rig.row(row_id).phase == ChangePhase.WITHDRAWN
    assert told(rig, row_id) == "none. The fill ended before the boost started."


def test_boosted_volume_has_no_second_change(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    begun(rig, "data")
    rig.pass_time(minutes=2)
    with pytest.raises(ConflictError) as caught:
        rig.begin(level("data", "Premium"))
    assert caught.value.message == (
        f"<@{ERIN}> requested a boost of this volume: data to Ultra (pool ultra) for the fill of"
        " chest-xray@v3. It is reverted when that fill has ended."
    )
