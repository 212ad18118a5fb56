"""Slots of time: each once, in the right zone, and none that never comes."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import select

from bot.database.database import Database, Session
from bot.errors import UsageError
from bot.schedule import ScheduledJob, ScheduleRun, claim_slot, install, next_slot
from jobs.timetable import Timetable
from tests.bot.quotas.people import FrozenClock
from tests.databases import opened_by_processes
from tests.moments import off_the_minute

NOON = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def slots(cron: str, zone: str, after: datetime, count: int) -> list[str]:
    found = []
    for _ in range(count):
        after = next_slot(cron, zone, after)
        found.append(after.astimezone(UTC).strftime("%a %d %b %H:%M"))
    return found


def test_weekday_numbers_begin_on_sunday() -> None:
    assert slots("0 9 * * 1", "UTC", NOON, 2) == ["Mon 23 Nov 09:00", "Mon 30 Nov 09:00"]
    assert slots("0 9 * * 0", "UTC", NOON, 1) == slots("0 9 * * 7", "UTC", NOON, 1)


def test_a_repeated_hour_counts_once() -> None:
    before = datetime(2026, 10, 31, 12, 0, tzinfo=UTC)
    assert slots("30 1 * * *", "America/New_York", before, 2) == [
        "Sun 01 Nov 05:30",
        "Mon 02 Nov 06:30",
    ]


def test_a_slot_is_never_before_the_moment() -> None:
    in_the_second_of_two_hours = datetime(2026, 11, 1, 6, 15, tzinfo=UTC)
    assert slots("30 1 * * *", "America/New_York", in_the_second_of_two_hours, 1) == [
        "Mon 02 Nov 06:30",
    ]


@pytest.mark.parametrize("cron", ["30 2 * * *", "30 2,14 * * *", "30 1-2 * * *"])
def test_half_past_two_comes_once_every_day(cron: str) -> None:
    after = datetime(2026, 10, 23, 22, 0, tzinfo=UTC)
    found = []
    while after < datetime(2027, 3, 30, tzinfo=UTC):
        after = next_slot(cron, "Europe/Berlin", after)
        local = after.astimezone(ZoneInfo("Europe/Berlin"))
        found += [local.date()] if local.hour in {2, 3} else []
    changed = [date(2026, 10, 25), date(2027, 3, 28)]
    assert [found.count(day) for day in changed] == [1, 1]
    assert set(Counter(found).values()) == {1}


def test_hourly_patterns_go_on_through_it() -> None:
    before = datetime(2026, 11, 1, 5, 15, tzinfo=UTC)
    assert slots("30 * * * *", "America/New_York", before, 2) == [
        "Sun 01 Nov 05:30",
        "Sun 01 Nov 06:30",
    ]


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("0 2 31 2 *", "'0 2 31 2 *' never occurs."),
        ("0 2 30 feb *", "'0 2 30 feb *' never occurs."),
        ("0 25 * * *", "'0 25 * * *': Bad hour"),
        ("0 25 * 2 *", "'0 25 * 2 *': Bad hour"),
        ("0 2 1 * mon", "'0 2 1 * mon' sets both a day of the month and a weekday."),
        ("@daily", "'@daily' does not have five fields."),
        ("0 2 * * */2", "'*/2' uses steps for weekdays."),
    ],
)
def test_misleading_patterns_are_refused(cron: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        next_slot(cron, "UTC", NOON)
    assert caught.value.message == message


def test_each_slot_is_claimed_once(database: Database) -> None:
    done: list[datetime] = []

    def work(_session: Session, now: datetime) -> None:
        done.append(now)

    job = ScheduledJob("sweep", "*/5 * * * *", "UTC", work)
    database.transaction(lambda session: install(session, [job], NOON))
    late = datetime(2026, 11, 21, 12, 17, tzinfo=UTC)

    def claim(own: Database) -> bool:
        return own.transaction(lambda session: claim_slot(session, job, late))

    with opened_by_processes(database, 4) as processes, ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(claim, processes * 2)) == [False] * 7 + [True]
    runs = database.read(lambda session: session.exec(select(ScheduleRun)).all())
    assert [run.slot for run in runs] == [datetime(2026, 11, 21, 12, 5, tzinfo=UTC)]


def test_the_timetable_looks_at_shifted_time(database: Database) -> None:
    done: list[datetime] = []
    job = ScheduledJob("daily", "0 0 * * *", "UTC", lambda _session, now: done.append(now))
    clock = FrozenClock()
    timetable = Timetable(database, clock, [job])
    timetable.start()
    try:
        timetable.look_at_all()
        assert done == []
        tomorrow = timetable.next_at()
        assert tomorrow is not None
        clock.moment = tomorrow
        timetable.look_at_all()
        # It looks by itself, too, and may have to repeat what collided.
        assert set(done) == {tomorrow}
    finally:
        timetable.stop()
