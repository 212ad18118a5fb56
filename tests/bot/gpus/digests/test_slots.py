"""The times of digests: once a channel and day, over clock changes, restarts and outages."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import Session, col, select

from bot.config import Settings
from bot.database.database import Database
from bot.gpus.digests.slots import DigestSlots
from bot.gpus.digests.tables import DIGEST, Digest, DigestChoice
from bot.reconcile.due import Due
from bot.schedule import ScheduleEntry
from bot.slack.messages import Message
from jobs.timetable import Timetable
from tests.bot.quotas.people import FrozenClock
from tests.bot.quotas.people import settings as story

MINUTE = timedelta(minutes=1)


class Bots:
    """Two bots on one database, whose clocks a test moves."""

    def __init__(self, database: Database, start: datetime, **digests: Any) -> None:
        self.database, self.clock = database, FrozenClock()
        self.clock.moment = start
        self.settings = self.told(**digests)
        self.tables = [self.table() for _ in range(2)]
        for table in self.tables:
            table.start()
            table.stop()
        self.look()

    def told(self, **digests: Any) -> Settings:
        whole = {**story().model_dump(exclude_defaults=True), "digests": digests}
        return Settings.model_validate(whole)

    def table(self) -> Timetable:
        slots = DigestSlots(lambda: self.settings, {"C0TEAMA": "team-a"}.get)
        return Timetable(self.database, self.clock, [], [slots])

    def look(self) -> None:
        for table in self.tables:
            table.look_at_all()

    def go(self, until: datetime, step: timedelta = timedelta(minutes=30)) -> None:
        while self.clock.moment < until:
            self.clock.moment += step
            self.look()

    def digests(self) -> list[Digest]:
        return self.database.read(
            lambda session: list(session.exec(select(Digest).order_by(Digest.id)))
        )


@pytest.mark.parametrize(
    ("first", "change", "hours", "at"),
    [
        (date(2027, 3, 25), date(2027, 3, 28), 23, "02:30"),
        (date(2026, 10, 22), date(2026, 10, 25), 25, "02:30"),
        (date(2026, 10, 22), date(2026, 10, 25), 25, "00:30"),
    ],
)
def test_each_day_once_over_clock_changes(
    database: Database, first: date, change: date, hours: int, at: str
) -> None:
    start = datetime(first.year, first.month, first.day, tzinfo=UTC) - timedelta(hours=3)
    bots = Bots(database, start, C0DAILY={"at": at, "time_zone": "Europe/Berlin"})
    bots.go(start + timedelta(days=6))
    days = [first + timedelta(days=count) for count in range(6)]
    assert [each.day for each in bots.digests()] == days
    lengths = {each.day: (each.ended - each.begun) // timedelta(hours=1) for each in bots.digests()}
    after = change + timedelta(days=1)
    assert lengths == {day: hours if day == after else 24 for day in days}
    assert {each.note for each in bots.digests()} == {""}


def test_day_and_week_in_their_own_zones(database: Database) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)  # a Friday
    bots = Bots(
        database,
        start,
        C0DAILY={"at": "09:00", "time_zone": "Asia/Kolkata", "weekly": "mon"},
        C0TEAMA={"at": "09:00", "daily": False, "weekly": "sat", "sections": ["teams"]},
    )
    bots.go(datetime(2026, 11, 23, 12, 0, tzinfo=UTC))
    told = [(d.channel, d.period, d.day.day, f"{d.begun:%d %H:%M}", d.team) for d in bots.digests()]
    assert told == [
        ("C0DAILY", "day", 21, "19 18:30", None),
        ("C0TEAMA", "week", 21, "14 00:00", "team-a"),
        ("C0DAILY", "day", 22, "20 18:30", None),
        ("C0DAILY", "day", 23, "21 18:30", None),
        ("C0DAILY", "week", 23, "15 18:30", None),
    ]
    assert bots.digests()[1].sections == ["teams"]


def test_missed_by_hours_comes_late(database: Database) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    bots = Bots(database, start, C0DAILY={"at": "09:00"})
    bots.clock.moment = datetime(2026, 11, 22, 14, 59, tzinfo=UTC)
    bots.look()
    [late] = bots.digests()
    assert (late.day, late.is_skipped) == (date(2026, 11, 22), False)
    assert late.note == (
        "This digest is 5h 59m late: no bot was available to post it. 1 earlier digest was missed."
    )
    assert woken(database) == [late.id]


def test_missed_by_longer_is_skipped_with_note(database: Database) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    bots = Bots(database, start, C0DAILY={"at": "09:00"})
    bots.clock.moment = datetime(2026, 11, 24, 15, 1, tzinfo=UTC)
    bots.look()
    [skipped] = bots.digests()
    assert (skipped.day, skipped.is_skipped) == (date(2026, 11, 24), True)
    assert skipped.note == (
        "No bot was available to post this digest until 6h 1m after its scheduled time. Digests"
        " more than 6h late are skipped. 3 earlier digests were missed."
    )
    assert woken(database) == []
    message = database.read(lambda session: session.exec(select(Message)).one())
    assert (message.channel, message.subject_id) == ("C0DAILY", skipped.id)


def test_times_before_the_setting_do_not_count(database: Database) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    bots = Bots(database, start)
    bots.settings = bots.told(C0DAILY={"at": "11:00"})
    bots.look()
    bots.go(start + timedelta(hours=20))
    assert bots.digests() == []
    bots.go(start + timedelta(hours=23))
    assert [each.day.day for each in bots.digests()] == [21]


def test_moved_time_tells_no_day_twice(database: Database) -> None:
    start = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    bots = Bots(database, start, C0DAILY={"at": "09:00"})
    bots.go(datetime(2026, 11, 20, 9, 30, tzinfo=UTC))
    bots.settings = bots.told(C0DAILY={"at": "10:00"})
    bots.look()
    bots.go(datetime(2026, 11, 21, 10, 30, tzinfo=UTC))
    assert [each.day.day for each in bots.digests()] == [20, 21]


def test_what_is_off_is_forgotten(database: Database) -> None:
    start = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    bots = Bots(database, start, C0DAILY={"at": "09:00", "weekly": "mon"})

    def choose(session: Session) -> None:
        session.add(
            DigestChoice(
                workspace_id="T0QM",
                channel="C0DAILY",
                is_on=False,
                person="U0CAROL",
                chosen_at=start,
            )
        )

    assert entries(database) == ["digest:day:C0DAILY", "digest:week:C0DAILY"]
    database.transaction(choose)
    bots.go(start + timedelta(days=3))
    assert (bots.digests(), entries(database)) == ([], [])


def woken(database: Database) -> list[str]:
    rows = database.read(lambda s: list(s.exec(select(Due).where(col(Due.kind) == DIGEST))))
    return [row.id for row in rows]


def entries(database: Database) -> list[str]:
    return database.read(
        lambda session: list(session.exec(select(ScheduleEntry.name).order_by(ScheduleEntry.name)))
    )
