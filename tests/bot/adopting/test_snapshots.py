"""Snapshots and their schedules, whose database was lost: they are kept, and go on."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlmodel import select

from bot.cluster import labels
from bot.database.database import Database
from bot.snapshots.snapshots.service import expire
from bot.snapshots.tables import Snapshot, SnapshotPhase, SnapshotSchedule
from tests.bot.adopting.rig import adopt, begin_anew, lose
from tests.bot.ground import NOON, TEAM_A, Outside
from tests.bot.snapshots.rig import TAKEN
from tests.bot.snapshots.rig import Rig as Snapshots
from tests.bot.snapshots.schedules.test_schedules import schedule
from tests.databases import create_tables

DAY = timedelta(days=1)
KEPT = (
    "id", "team", "person", "channel", "cluster", "namespace", "claim_name", "claim_uid", "driver",
    "storage_class", "capacity_bytes", "name", "note", "asked_at", "phase", "uid", "size_bytes",
    "snapshot_class", "deletion_policy", "taken_at",
)  # fmt: skip


@pytest.fixture
def taking(own_database: Database, outside: Outside, tmp_path: Path) -> Snapshots:
    return Snapshots(own_database, outside, tmp_path)


def rows(rig: Snapshots) -> list[Snapshot]:
    return rig.do(lambda session: list(session.scalars(select(Snapshot).order_by(Snapshot.id))))


def schedules(rig: Snapshots) -> list[SnapshotSchedule]:
    return rig.do(lambda session: list(session.scalars(select(SnapshotSchedule))))


def annotated(rig: Snapshots, name: str, **metadata: Any) -> None:
    """Somebody changes the metadata of a VolumeSnapshot."""
    rig.world.patch(TAKEN, name, {"metadata": metadata}, "team-a")


def test_an_adopted_snapshot_is_listed_and_stays(taking: Snapshots, tmp_path: Path) -> None:
    before = taking.taken(note="before the change", keep=DAY)
    lose(taking, tmp_path)
    line = f"  imagenet of team-a: VolumeSnapshot team-a/{before.name} on default"
    assert adopt(taking, is_trial=True) == ["Snapshots to adopt:", line]
    assert rows(taking) == []
    assert adopt(taking) == ["Adopted snapshots:", line]
    assert adopt(taking) == ["Known already: 1 snapshot."]
    begun = len(taking.effects())
    taking.pass_time(days=3)
    (after,) = rows(taking)
    assert {key: getattr(after, key) for key in KEPT} == {key: getattr(before, key) for key in KEPT}
    assert (after.keep_until, taking.objects()) == (None, [before.name])
    assert (taking.effects()[begun:], taking.notes(after.id)) == ([], {})


@pytest.mark.postgres
def test_postgresql_takes_adoptions_but_no_trials(taking: Snapshots, postgres_url: str) -> None:
    schedule(taking, "0 * * * *", most=2)
    taking.pass_time(hours=1, minutes=10)
    before = rows(taking)
    create_tables(postgres_url)
    begin_anew(taking, postgres_url)
    shown = adopt(taking, is_trial=True)
    assert (rows(taking), schedules(taking)) == ([], [])
    assert len(adopt(taking)) == len(shown) == 4
    assert [each.id for each in rows(taking)] == [each.id for each in before]
    assert [each.claim_name for each in schedules(taking)] == ["imagenet"]
    taking.database.close()


def test_an_adopted_snapshot_is_restored_and_deleted(taking: Snapshots, tmp_path: Path) -> None:
    before = taking.taken()
    taking.write("tuesday")
    lose(taking, tmp_path)
    adopt(taking)
    (row,) = rows(taking)
    taking.restore(row, name="again")
    taking.pass_time(minutes=1)
    assert taking.read("again") == "monday"
    taking.delete(row)
    taking.pass_time(minutes=1)
    assert taking.objects() == []
    assert taking.found(before.id).phase == SnapshotPhase.DELETED


def test_snapshots_of_earlier_releases_are_adopted(taking: Snapshots, tmp_path: Path) -> None:
    before = taking.taken(note="lost")
    annotated(taking, before.name, annotations={labels.RECORD: None})
    lose(taking, tmp_path)
    assert adopt(taking)[0] == "Adopted snapshots:"
    (after,) = rows(taking)
    told = {"note", "asked_at"}
    assert {key for key in KEPT if getattr(after, key) != getattr(before, key)} <= told
    assert after.note == ""


def test_of_a_deleted_claim_the_snapshot_is_adopted(taking: Snapshots, tmp_path: Path) -> None:
    before = taking.taken()
    annotated(taking, before.name, annotations={labels.RECORD: None})
    taking.world.delete("persistentvolumeclaims", "imagenet", "team-a")
    lose(taking, tmp_path)
    assert adopt(taking)[0] == "Adopted snapshots:"
    (after,) = rows(taking)
    assert (after.claim_uid, after.storage_class, after.driver) == ("-", "", before.driver)
    taking.restore(after, name="again", storage_class=before.storage_class)
    taking.pass_time(minutes=1)
    assert taking.read("again") == "monday"


@pytest.mark.parametrize("copy", ["a-copy", "z-copy"])
def test_a_copied_snapshot_is_not_adopted(taking: Snapshots, tmp_path: Path, copy: str) -> None:
    """Whichever of the two the cluster lists first."""
    before = taking.taken()
    taking.pass_time(minutes=1)
    original = taking.world.get(TAKEN, before.name, "team-a")
    assert original is not None
    marks = {key: original["metadata"][key] for key in ("labels", "annotations")}
    body = {"metadata": {"name": copy, **marks}, "spec": original["spec"]}
    taking.world.create(TAKEN, body, "team-a")
    lose(taking, tmp_path)
    title, adopted, *others = adopt(taking)
    assert title == "Adopted snapshots:"
    assert adopted == f"  imagenet of team-a: VolumeSnapshot team-a/{before.name} on default"
    assert others == [
        "Not adopted:",
        (
            f"  VolumeSnapshot team-a/{copy} on default: The snapshot of that id is"
            f" team-a/{before.name} on default. Delete this one with kubectl if it is not needed."
        ),
    ]
    assert adopt(taking) == ["Known already: 1 snapshot.", *others]
    assert [each.name for each in rows(taking)] == [before.name]


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ({labels.TEAM: "team-b"}, "Snapshots of team-b are not in namespace team-a of default."),
        ({labels.PERSON: "alice"}, "Its label quartermaster.dev/person names no Slack user."),
    ],
)
def test_snapshots_with_other_labels_are_refused(
    taking: Snapshots, tmp_path: Path, marks: dict[str, str], why: str
) -> None:
    name = taking.taken().name
    annotated(taking, name, labels=marks)
    lose(taking, tmp_path)
    assert adopt(taking) == [
        "Not adopted:",
        f"  VolumeSnapshot team-a/{name} on default: {why}",
    ]
    assert rows(taking) == []


def test_a_schedule_goes_on_and_doubles_nothing(taking: Snapshots, tmp_path: Path) -> None:
    schedule(taking, "0 * * * *", most=2)
    taking.pass_time(hours=2, minutes=10)
    (before,), earlier = schedules(taking), taking.objects()
    assert len(earlier) == 2
    lose(taking, tmp_path)
    shown = adopt(taking)
    assert shown[3:] == ["Adopted schedules:", "  imagenet of team-a: 0 * * * * (UTC)"]
    assert adopt(taking) == ["Known already: 2 snapshots, 1 schedule."]
    (after,) = schedules(taking)
    told = ("id", "team", "person", "channel", "cron", "time_zone", "most", "next_at", "asked_at")
    assert {key: getattr(after, key) for key in told} == {key: getattr(before, key) for key in told}
    taking.pass_time(minutes=30)
    assert taking.objects() == earlier
    assert taking.card(after.id).splitlines()[:2] == [
        "✅ Snapshot schedule of imagenet · Active",
        "It goes on under a new database. Its earlier snapshots stay until they are deleted.",
    ]
    taking.pass_time(hours=4)
    slots = [each.slot for each in rows(taking) if each.slot is not None]
    assert slots == [NOON + timedelta(hours=hour) for hour in (3, 4, 5, 6)]
    taking.do(lambda session: expire(session, taking.clock.now()))
    taking.pass_time(minutes=1)
    kept = [each.name for each in rows(taking) if each.slot in slots[2:]]
    assert set(taking.objects()) == {*earlier, *kept}


def test_a_schedule_that_had_stopped_stays_so(taking: Snapshots, tmp_path: Path) -> None:
    schedule(taking, "0 * * * *", keep=7 * DAY, most=5)
    taking.pass_time(hours=1, minutes=10)
    (row,) = schedules(taking)
    by = taking.caller()
    taking.do(
        lambda s: taking.scheduling.unschedule(
            s, by, s.get_one(SnapshotSchedule, row.id), taking.clock.now()
        )
    )
    taking.pass_time(hours=9)
    taking.taken()
    lose(taking, tmp_path)
    assert adopt(taking)[-1] == (
        "  Schedule of PVC team-a/imagenet on default: It took no snapshot after 2026-11-21 13:00"
        " UTC, so it was probably stopped. To start it again: `/snapshot schedule imagenet"
        " '0 * * * *' --keep 7d --max 5`."
    )
    assert schedules(taking) == []


@pytest.mark.parametrize(
    "change",
    [
        {"cron": "* * * * *"},
        {"cron": "no cron"},
        {"time_zone": "../etc/passwd"},
        {"time_zone": "America"},
        {"person": "alice"},
    ],
)
def test_a_forged_schedule_is_not_adopted(
    taking: Snapshots, tmp_path: Path, change: dict[str, str]
) -> None:
    schedule(taking, "0 * * * *", most=2)
    taking.pass_time(hours=1, minutes=10)
    (name,) = taking.objects()
    found = taking.world.get(TAKEN, name, "team-a")
    assert found is not None
    record = msgspec.json.decode(found["metadata"]["annotations"][labels.RECORD])
    record["channel"] = record["schedule"]["channel"] = "C0BOARD"
    record["schedule"] |= change
    text = msgspec.json.encode(record).decode()
    annotated(taking, name, annotations={labels.RECORD: text})
    lose(taking, tmp_path)
    title, line = adopt(taking)[2:]
    assert title == "Not adopted:"
    assert line == (
        "  Schedule of PVC team-a/imagenet on default: What its newest snapshot says of it cannot"
        " be read."
    )
    assert [each.channel for each in rows(taking)] == [TEAM_A]
