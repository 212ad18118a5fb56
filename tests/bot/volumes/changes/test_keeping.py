"""Who uses a volume at the end of a change keeps it so until they have ended."""

from datetime import timedelta

from bot.slack.markup import when
from bot.slack.text import as_text
from bot.volumes.changes import holds
from bot.volumes.changes.replies import Fill, question
from bot.volumes.changes.tables import ChangePhase
from bot.volumes.records import ClaimPlace
from playground.arm.estate import GIB
from tests.bot.volumes.changes.rig import ERIN, Rig, level, mibps

HOUR = 3600
LANE, OTHER = ("run", "1"), ("run", "2")


def uses(rig: Rig, subject: tuple[str, str], claim: str = "data") -> None:
    """A run mounts a PVC from now on."""
    place = ClaimPlace("default", "team-a", claim)
    rig.do(lambda session: holds.use(session, place, subject, f"run {subject[1]} of team-a"))


def leaves(rig: Rig, subject: tuple[str, str]) -> None:
    """A run has ended."""
    rig.do(lambda session: holds.leave(session, subject, rig.clock.now()))


def test_run_at_the_end_keeps_the_level(rig: Rig) -> None:
    data = rig.volume("data", rig.arm.standard)
    row_id = rig.ask(level("data", "Premium", seconds=30 * HOUR))
    rig.pass_time(minutes=1)
    uses(rig, LANE)
    uses(rig, OTHER, "elsewhere")
    rig.pass_time(hours=31)
    assert data.pool is rig.arm.premium
    assert rig.card(row_id).splitlines() == [
        "✅ team-a/data to Premium (pool premium) · Active",
        "  From          Standard, pool standard",
        "  To            Premium, pool premium",
        "  Throughput    16.4 MiB/s → 65.5 MiB/s",
        "  Cost          unchanged: no pool changes its size",
        "  Until         2026-11-22 18:00 UTC",
        "  Reverts       after run 1 of team-a, 2026-12-22 18:00 UTC at the latest",
        "  Requested by  Erin in #C0TEAMA",
        "  [Revert now]",
        f"Change `{row_id[-6:]}`",
    ]
    until = rig.row(row_id).kept_until
    assert until is not None
    assert rig.notes(row_id)["kept"] == (
        f"<@{ERIN}> `data` stays as it is for run 1 of team-a. It is reverted after that,"
        f" {when(until)} at the latest."
    )
    leaves(rig, LANE)
    rig.run()
    assert rig.row(row_id).phase == ChangePhase.WORKING
    rig.pass_time(minutes=2)
    assert data.pool is rig.arm.standard
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_who_comes_later_keeps_nothing(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    rig.ask(mibps("lane", 100, seconds=HOUR))
    rig.pass_time(minutes=1)
    uses(rig, LANE, "lane")
    rig.pass_time(hours=2)
    uses(rig, OTHER, "lane")
    assert lane.throughput == 100
    leaves(rig, LANE)
    rig.pass_time(minutes=1)
    assert lane.throughput == 16


def test_who_left_before_keeps_nothing(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    rig.ask(mibps("lane", 100, seconds=HOUR))
    uses(rig, LANE, "lane")
    rig.pass_time(minutes=1)
    leaves(rig, LANE)
    rig.pass_time(hours=1)
    assert lane.throughput == 16


def test_nobody_keeps_it_for_ever(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HOUR))
    uses(rig, LANE, "lane")
    rig.pass_time(hours=2)
    assert rig.row(row_id).kept_for == "run 1 of team-a"
    rig.clock.moment += timedelta(days=30)
    rig.pass_time(minutes=2)
    assert lane.throughput == 16
    assert rig.row(row_id).phase == ChangePhase.RETURNED


def test_put_back_now_waits_for_nobody(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=HOUR))
    uses(rig, LANE, "lane")
    rig.pass_time(hours=2)
    assert lane.throughput == 100
    rig.give_back(row_id)
    rig.pass_time(minutes=1)
    assert lane.throughput == 16


def test_clock_that_jumps_back_changes_nothing(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=12 * HOUR))
    rig.pass_time(hours=11, minutes=59)
    rig.clock.moment -= timedelta(hours=6)
    rig.restart()
    rig.pass_time(hours=6)
    assert (lane.throughput, rig.row(row_id).phase) == (100, ChangePhase.HELD)
    rig.pass_time(minutes=2)
    assert (lane.throughput, rig.row(row_id).phase) == (16, ChangePhase.RETURNED)


def test_clock_that_jumps_back_amid_the_way_back(rig: Rig) -> None:
    lane = rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 100, seconds=12 * HOUR))
    rig.pass_time(minutes=1)
    rig.clock.moment = rig.row(row_id).ends_at or rig.clock.moment
    rig.loop.run_due()
    assert rig.row(row_id).phase == ChangePhase.WORKING
    rig.clock.moment -= timedelta(hours=6)
    rig.restart()
    rig.pass_time(hours=7)
    assert (lane.throughput, rig.row(row_id).phase) == (16, ChangePhase.RETURNED)
    assert rig.effects() == ["PATCH volumes", "PATCH volumes"]


def test_question_tells_of_uses_and_fills(rig: Rig) -> None:
    rig.volume("data", rig.arm.standard)
    asked = level("data", "Premium", seconds=30 * HOUR)
    plan, anf = rig.service.plan(asked, rig.claimed("data"))
    fills = [Fill("chest-xray@v3", 100 * GIB)]
    told = as_text(question(asked, plan, anf, fills)).splitlines()
    assert " ".join(told[2:4]) == (
        "chest-xray@v3 is being filled on it: 100 GiB is left, which takes at least 1h 44m now"
        " and 26m 2s afterwards. The fill continues. If a run or a fill uses the volume at that"
        " time, it is reverted when that ends, at most 30d later."
    )
