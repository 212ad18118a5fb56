"""Snapshots by the clock: each slot once, late rather than never, and told on one card."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.audit import AuditLine
from bot.cluster.resources import FOREIGN_SCHEDULES
from bot.config import Settings
from bot.database.database import Session
from bot.errors import ConflictError, NotAllowedError, UserError
from bot.reconcile.loop import Loop
from bot.snapshots.schedules.controller import ScheduleController
from bot.snapshots.schedules.service import ScheduleRequest
from bot.snapshots.tables import Snapshot, SnapshotSchedule
from playground.cluster.story import snapshot_class
from tests.bot.ground import ALICE, BOB, ERIN, NOON, START
from tests.bot.snapshots.rig import CLAIM, CLAIMS, SETTINGS, SNAPSCHEDULER_CRD, TAKEN, Rig

NIGHTLY = "0 2 * * *"
NIGHT = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)


def schedule(rig: Rig, cron: str = NIGHTLY, person: str = ALICE, **options: Any) -> str:
    """Somebody has snapshots of imagenet taken by the clock; the id of that."""
    rig.look()
    by, asked = rig.caller(person), ScheduleRequest(**({"claim": CLAIM, "cron": cron} | options))
    return rig.do(lambda s: rig.scheduling.schedule(s, by, asked, rig.clock.now()).id)


def unschedule(rig: Rig, row_id: str, person: str = ALICE) -> None:
    by = rig.caller(person)

    def work(session: Session) -> None:
        row = session.get_one(SnapshotSchedule, row_id)
        rig.scheduling.unschedule(session, by, row, rig.clock.now())

    rig.do(work)


def row_of(rig: Rig, row_id: str) -> SnapshotSchedule:
    return rig.do(lambda session: session.get_one(SnapshotSchedule, row_id))


def taken(rig: Rig) -> list[Snapshot]:
    found = rig.do(lambda session: list(session.exec(select(Snapshot))))
    return sorted(found, key=lambda each: each.slot or each.asked_at)


def asleep(rig: Rig, until: datetime) -> None:
    """Nothing of the bot looks until then."""
    rig.outside.clock.moment = until


def refusal(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        act()
    return caught.value.message, caught.value.hint


def test_each_night_has_one_snapshot(rig: Rig) -> None:
    row_id = schedule(rig, keep=timedelta(days=7), most=14)
    rig.pass_time(days=3)
    rows = taken(rig)
    assert [each.slot for each in rows] == [NIGHT + timedelta(days=n) for n in range(3)]
    assert [each.name[:-11] for each in rows] == [
        "imagenet-20261122-0200", "imagenet-20261123-0200", "imagenet-20261124-0200",
    ]  # fmt: skip
    assert {each.keep_until for each in rows} == {
        each.asked_at + timedelta(days=7) for each in rows
    }
    assert len(rig.objects(TAKEN)) == 3
    assert rig.card(row_id).splitlines() == [
        "✅ Snapshot schedule of imagenet · Active",
        "  PVC           `team-a/imagenet`",
        "  Schedule      `0 2 * * *` in UTC",
        "  Kept          7d, at most 14",
        "  Next          2026-11-25 02:00 UTC",
        f"  Last          `{rows[-1].name}`, ready, 2026-11-24 02:00 UTC",
        "  Snapshots     3 ready",
        "  Requested by  Alice",
        "  [Stop]",
    ]
    assert rig.notes(row_id) == {}
    assert all(rig.notes(each.id) == {} for each in rows)
    verbs = rig.do(lambda s: [each.verb for each in s.exec(select(AuditLine))])
    assert verbs == ["snapshot.schedule", *["snapshot.create"] * 3]


def test_two_bots_take_each_slot_once(rig: Rig) -> None:
    schedule(rig, "*/30 * * * *")
    other = Loop(rig.database, rig.clock, [ScheduleController(rig.context)])
    asleep(rig, START + timedelta(minutes=31))
    for loop in (rig.loop, other, rig.loop, other):
        loop.run_due()
    rig.restart()
    rig.run()
    assert [each.slot for each in taken(rig)] == [NOON + timedelta(minutes=30)]


def test_the_next_waits_for_the_last(rig: Rig) -> None:
    rig.world.delete("volumesnapshotclasses", "csi-snapclass")
    rig.world.create("volumesnapshotclasses", snapshot_class(seconds=2000))
    row_id = schedule(rig, "*/30 * * * *")
    rig.pass_time(minutes=61)
    first = taken(rig)[0]
    assert len(taken(rig)) == 1
    assert f"Waiting for {first.name}, which is being taken." in rig.card(row_id)
    rig.pass_time(minutes=10)
    assert [each.slot for each in taken(rig)] == [
        NOON + timedelta(minutes=30),
        NOON + timedelta(minutes=60),
    ]
    assert "Waiting for" not in rig.card(row_id)


def test_a_missed_slot_is_taken_late(rig: Rig) -> None:
    row_id = schedule(rig, "0 * * * *")
    asleep(rig, START + timedelta(hours=4, minutes=20))
    rig.pass_time(minutes=1)
    assert [each.slot for each in taken(rig)] == [NOON + timedelta(hours=4)]
    assert rig.notes(row_id) == {
        "late-2026-11-21T16:00:00+00:00": (
            "The snapshot of <!date^1795276800^{date_short_pretty} {time}|2026-11-21 16:00 UTC>"
            " is late. It is taken 20m 46s late. Quartermaster was not running at the time."
            " Earlier ones were missed too."
        )
    }
    rig.pass_time(minutes=40)
    assert len(taken(rig)) == 2
    assert "late" not in rig.card(row_id)


def test_what_is_too_late_is_skipped(rig: Rig) -> None:
    row_id = schedule(rig)
    asleep(rig, NIGHT + timedelta(hours=7))
    rig.run()
    assert taken(rig) == []
    said = rig.notes(row_id)["failed-2026-11-22T02:00:00+00:00"].splitlines()
    assert said == [
        (
            f"<@{ALICE}> No snapshot of `imagenet` was taken for"
            f" <!date^1795312800^{{date_short_pretty}} {{time}}|2026-11-22 02:00 UTC>. It could"
            " not be taken within 6h (snapshots.late_within). Quartermaster was not running at"
            " the time."
        ),
        ("The next one is due <!date^1795399200^{date_short_pretty} {time}|2026-11-23 02:00 UTC>."),
    ]
    rig.pass_time(hours=18)
    assert [each.slot for each in taken(rig)] == [NIGHT + timedelta(days=1)]


def test_failures_are_told_once_a_day(rig: Rig) -> None:
    row_id = schedule(rig, "0 * * * *")
    rig.world.delete("volumesnapshotclasses", "csi-snapclass")
    rig.pass_time(hours=5)
    (said,) = rig.notes(row_id).values()
    assert said.splitlines()[1] == "A platform admin has to create one."
    assert rig.card(row_id).splitlines()[:3] == [
        "⚠️ Snapshot schedule of imagenet · Active",
        (
            "The cluster has no VolumeSnapshotClass for csi.playground, the driver of this"
            " PVC's volume."
        ),
        "5 snapshots in a row were not taken.",
    ]
    rig.pass_time(hours=20)
    assert len(rig.notes(row_id)) == 2
    rig.world.create("volumesnapshotclasses", snapshot_class())
    rig.pass_time(minutes=61)
    assert row_of(rig, row_id).failures == 0
    assert len(taken(rig)) == 1


def test_what_a_driver_fails_is_told_too(rig: Rig) -> None:
    rig.set(ready_within="5m")
    rig.world.delete("volumesnapshotclasses", "csi-snapclass")
    rig.world.create("volumesnapshotclasses", snapshot_class(seconds=4000))
    row_id = schedule(rig, "0 * * * *")
    rig.pass_time(minutes=70)
    (said,) = rig.notes(row_id).values()
    assert "It was not ready within 5m." in said
    assert rig.notes(taken(rig)[0].id) == {}
    assert rig.objects(TAKEN) == []


def test_a_schedule_without_its_pvc_stops(rig: Rig) -> None:
    row_id = schedule(rig, most=3)
    rig.pass_time(days=1)
    kept = rig.objects(TAKEN)
    rig.world.delete(CLAIMS, CLAIM, "team-a")
    rig.pass_time(days=1)
    assert "Its PVC no longer exists." in rig.card(row_id)
    assert row_of(rig, row_id).is_live
    rig.pass_time(days=3)
    assert [each.split("-20")[0] for each in rig.notes(row_id)] == ["missing", "stopped"]
    assert rig.notes(row_id)["stopped"] == (
        f"<@{ALICE}> The snapshot schedule of `imagenet` has stopped: its PVC is still missing."
        " Its snapshots stay."
    )
    assert rig.card(row_id).splitlines()[:2] == [
        "⏹️ Snapshot schedule of imagenet · Stopped",
        "It has stopped: its PVC no longer exists.",
    ]
    assert rig.objects(TAKEN) == kept
    assert len(taken(rig)) == 1


def test_schedules_are_changed_and_stopped(rig: Rig) -> None:
    row_id = schedule(rig)
    assert schedule(rig, "0 4 * * *", ERIN, most=5) == row_id
    assert (row_of(rig, row_id).cron, row_of(rig, row_id).most) == ("0 4 * * *", 5)
    rig.pass_time(days=1)
    assert [each.slot for each in taken(rig)] == [NIGHT + timedelta(hours=2)]
    unschedule(rig, row_id)
    rig.pass_time(days=2)
    assert len(taken(rig)) == 1
    assert rig.card(row_id).splitlines()[1] == f"@{ALICE} stopped it."
    with pytest.raises(ConflictError):
        unschedule(rig, row_id)
    assert schedule(rig) != row_id


def test_others_do_not_stop_it(rig: Rig) -> None:
    row_id = schedule(rig, person=ERIN)
    with pytest.raises(NotAllowedError) as caught:
        unschedule(rig, row_id)
    assert caught.value.message == f"<@{ERIN}> set up the schedule of imagenet."
    with pytest.raises(NotAllowedError):
        unschedule(rig, row_id, BOB)
    with pytest.raises(NotAllowedError):
        schedule(rig, "0 3 * * *")


def test_bad_patterns_say_what_is_right(rig: Rig) -> None:
    teams = SETTINGS.model_dump()
    teams["teams"]["team-a"]["time_zone"] = "Europe/Berlin"
    rig.policy = Settings.model_validate(teams)
    right = (
        "Use five fields: minute, hour, day, month, weekday. 0 2 * * * is daily at 02:00 in"
        " Europe/Berlin, next on 2026-11-22 at 01:00 UTC."
    )
    assert refusal(lambda: schedule(rig, "every night")) == (
        "'every night' does not have five fields.", right,
    )  # fmt: skip
    assert refusal(lambda: schedule(rig, "0 2 31 2 *")) == ("'0 2 31 2 *' never occurs.", right)
    assert refusal(lambda: schedule(rig, "* * * * *")) == (
        "'* * * * *' is due every 1m at times. The shortest interval is 10m.", right,
    )  # fmt: skip
    assert refusal(lambda: schedule(rig, "99 2 * * *"))[1] == right
    assert refusal(lambda: schedule(rig, claim="imagnet")) == (
        "There is no PVC imagnet in namespace team-a.", "Did you mean imagenet?",
    )  # fmt: skip
    rig.set(limits={"csi.playground": 20})
    assert refusal(lambda: schedule(rig, keep=timedelta(days=30))) == (
        "That keeps 30 snapshots, but a volume of csi.playground can have 20.",
        "Keep fewer, for example --max 14.",
    )
    assert taken(rig) == []


def test_snapscheduler_is_found_and_told(rig: Rig) -> None:
    rig.world.create("customresourcedefinitions", SNAPSCHEDULER_CRD)
    rig.pass_time(seconds=10)
    for name, labels in (("nightly", {}), ("weekly", {"tier": "gold"})):
        spec = {"schedule": "0 1 * * *", "claimSelector": {"matchLabels": labels}}
        body = {"metadata": {"name": name}, "spec": spec}
        rig.world.create("snapshotschedules", body, "team-a")
    found = rig.cluster.list(FOREIGN_SCHEDULES)
    rig.cluster.view.store(FOREIGN_SCHEDULES).replace(found)
    row_id = schedule(rig)
    assert (
        "snapscheduler also takes snapshots of it: nightly (0 1 * * *). Quartermaster does not"
        " manage those, and they count towards the limit of the volume."
    ) in rig.card(row_id)
    assert rig.scheduling.foreign("team-a") == [
        "nightly (0 1 * * *)",
        "weekly (0 1 * * *)",
    ]
    assert rig.scheduling.foreign("team-b") == []


def test_an_unreachable_cluster_is_waited_for(rig: Rig) -> None:
    row_id = schedule(rig)
    rig.world.forbid("list", "volumesnapshotclasses")
    asleep(rig, NIGHT)
    rig.loop.run_due()
    asleep(rig, NIGHT + timedelta(minutes=30))
    rig.loop.run_due()
    assert "403 Forbidden" in rig.card(row_id)
    assert taken(rig) == []
    rig.world.allow("list", "volumesnapshotclasses")
    rig.pass_time(minutes=10)
    (late,) = rig.notes(row_id).values()
    assert "It is taken 30m" in late
    assert "403 Forbidden" in late
    assert len(taken(rig)) == 1
