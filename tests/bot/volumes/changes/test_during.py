"""What digests are told of volumes that can do more by a change of the bot."""

from datetime import timedelta

from bot.volumes.changes.service import Raise, raises_during
from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import GIB
from tests.bot.volumes.changes.rig import ERIN, Rig, level, mibps
from tests.bot.volumes.changes.test_keeping import LANE, uses

HOUR = 3600


def raises(rig: Rig, **ago: float) -> list[Raise]:
    """What a digest tells of the time from so long ago until now."""
    now = rig.clock.moment
    return rig.do(lambda session: raises_during(session, ["team-a"], now - timedelta(**ago), now))


def test_raised_volumes_are_told_until_they_end(rig: Rig) -> None:
    for name, pool in (
        ("data", rig.arm.standard),
        ("lane", rig.arm.tuned),
        ("old", rig.arm.standard),
        ("slow", rig.arm.tuned),
    ):
        rig.volume(name, pool)
    rig.arm.estate.add_volume(rig.arm.premium, "other", 512 * GIB)
    rig.ask(mibps("slow", 10))
    lane_id = rig.ask(mibps("lane", 20, seconds=12 * HOUR))
    rig.ask(level("old", "Premium", pool="premium"))
    rig.pass_time(minutes=1)
    until = rig.row(lane_id).ends_at
    kept = Raise("team-a/old from Standard to Premium", ERIN, 0.0)
    lane = Raise("team-a/lane from 16 MiB/s to 20 MiB/s", ERIN, 0.0, until)
    assert raises(rig, hours=1) == [lane, kept]
    rig.pass_time(hours=14)
    [same, ended] = raises(rig, hours=24)
    assert (same, ended.what, ended.until) == (kept, lane.what, None)
    assert ended.ended_at is not None
    assert raises(rig, hours=1) == [kept]


def test_what_goes_down_again_is_raised_no_more(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    rig.ask(mibps("lane", 40))
    rig.pass_time(minutes=1)
    rig.ask(mibps("lane", 20))
    rig.pass_time(minutes=1)
    assert raises(rig, hours=1) == []


def test_volume_on_its_way_back_is_told(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    row_id = rig.ask(mibps("lane", 40, seconds=HOUR))
    rig.pass_time(minutes=1)
    rig.give_back(row_id)
    rig.loop.run_due()
    assert rig.row(row_id).phase == ChangePhase.WORKING
    what = "team-a/lane from 16 MiB/s to 40 MiB/s"
    assert raises(rig, hours=1) == [Raise(what, ERIN, 0.0, is_returning=True)]


def test_what_somebody_uses_is_told_so(rig: Rig) -> None:
    rig.volume("lane", rig.arm.tuned)
    rig.ask(mibps("lane", 40, seconds=HOUR))
    uses(rig, LANE, "lane")
    rig.pass_time(hours=2)
    what = "team-a/lane from 16 MiB/s to 40 MiB/s"
    assert raises(rig, hours=1) == [Raise(what, ERIN, 0.0, is_kept=True)]
