"""What a VolumeSnapshot says of its row and its schedule, so that lost rows can be written."""

from datetime import datetime

import msgspec

from bot.cluster import records
from bot.cluster.records import Count, Name, Seconds, Text
from bot.cluster.types.objects import ClusterObject
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.tables import Snapshot, SnapshotSchedule


class ScheduleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule that a snapshot was taken on, as it was then."""

    id: Name
    person: Name
    channel: Text
    cron: Text
    time_zone: Text
    keep_seconds: Seconds | None
    most: Seconds | None
    asked_at: datetime


class SnapshotRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What only the row of a snapshot says: the rest is in its VolumeSnapshot."""

    channel: Text
    claim_uid: Name
    storage_class: Name
    driver: Name
    capacity_bytes: Count
    note: Text
    run_id: Name | None
    run: Text
    data: tuple[tuple[Text, Text], ...]
    asked_at: datetime
    slot: datetime | None
    schedule: ScheduleRecord | None


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
_DECODER = msgspec.json.Decoder(SnapshotRecord)


def recorded(row: Snapshot, plan: SnapshotPlan, schedule: SnapshotSchedule | None) -> str:
    """The annotation of a new VolumeSnapshot."""
    return records.recorded(
        SnapshotRecord(
            channel=row.channel,
            claim_uid=plan.claim_uid,
            storage_class=plan.storage_class,
            driver=plan.driver,
            capacity_bytes=plan.capacity_bytes,
            note=row.note,
            run_id=row.run_id,
            run=row.run,
            data=tuple((name, digest) for name, digest in row.data),
            asked_at=row.asked_at,
            slot=row.slot,
            schedule=None if schedule is None else _of_schedule(schedule),
        )
    )


def record_of(found: ClusterObject) -> SnapshotRecord | None:
    """What the annotation says; None if there is none that can be read."""
    record = records.record_of(found, _DECODER)
    if record is None:
        return None
    moments = [record.asked_at, record.slot]
    moments += [record.schedule.asked_at] if record.schedule is not None else []
    is_sound = all(each is None or records.is_moment(each) for each in moments)
    return record if is_sound else None


def _of_schedule(row: SnapshotSchedule) -> ScheduleRecord:
    return ScheduleRecord(
        id=row.id,
        person=row.person,
        channel=row.channel,
        cron=row.cron,
        time_zone=row.time_zone,
        keep_seconds=row.keep_seconds,
        most=row.most,
        asked_at=row.asked_at,
    )
