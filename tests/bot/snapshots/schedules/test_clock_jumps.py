"""Clocks that are set right while snapshots are taken on a schedule."""

from datetime import timedelta

from bot.snapshots.tables import SnapshotPhase
from tests.bot.ground import NOON
from tests.bot.snapshots.rig import TAKEN, Rig
from tests.bot.snapshots.schedules.test_schedules import schedule, taken

HOUR = timedelta(hours=1)


def test_a_clock_set_back_takes_no_slot_twice(rig: Rig) -> None:
    schedule(rig, "0 * * * *", most=14)
    rig.pass_time(hours=2, minutes=1)
    rig.outside.clock.moment -= 2 * HOUR
    rig.restart()
    rig.pass_time(hours=2)
    assert [each.slot for each in taken(rig)] == [NOON + HOUR, NOON + 2 * HOUR]
    rig.pass_time(hours=1)
    assert [each.slot for each in taken(rig)][2:] == [NOON + 3 * HOUR]
    assert len(rig.objects(TAKEN)) == 3


def test_a_clock_that_leaps_keeps_what_is_ready(rig: Rig) -> None:
    schedule(rig, "0 * * * *", keep=24 * HOUR, most=1)
    rig.pass_time(hours=1, minutes=1)
    (first,) = taken(rig)
    rig.outside.clock.moment += 400 * 24 * HOUR
    rig.restart()
    rig.run()
    assert [each.phase for each in taken(rig)][:1] == [SnapshotPhase.READY]
    assert first.name in rig.objects(TAKEN)
    rig.pass_time(minutes=2)
    assert [each.phase for each in taken(rig)] == [SnapshotPhase.READY, SnapshotPhase.READY]
