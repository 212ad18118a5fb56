"""A month of sweeps by two bots, over the end of winter time in Europe."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session, col, select

from bot.config import Settings
from bot.database.database import Database
from bot.datasets.caches.evictions.claim_usage import ClaimUse
from bot.datasets.caches.evictions.sweep import CacheUsage, look_through, sweep
from bot.datasets.caches.tables import SWEEP, Cache, CacheIntent
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.loop import Loop
from bot.schedule import ScheduledJob, ScheduleRun
from bot.slack.messages import Message
from jobs import cache_expiry
from jobs.timetable import Timetable
from tests.bot.datasets.caches.keeping import settings
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.quotas.people import FrozenClock
from tests.databases import create_tables

BERLIN = ZoneInfo("Europe/Berlin")
BEGIN = datetime(2027, 3, 10, 6, 0, tzinfo=UTC)
LAST_USE = datetime(2027, 3, 27, 18, 0, tzinfo=BERLIN)
STEP = timedelta(hours=1)
DAYS = 31


class Sweeping:
    """Sweeps without a cluster: somebody's pod uses the cache every morning and evening."""

    kind = SWEEP

    def __init__(self, clock: FrozenClock, policy: Settings) -> None:
        self._clock = clock
        self._policy = policy

    def step(self, row_id: str) -> Step:
        now = self._clock.now()
        is_used = now.astimezone(BERLIN).hour in {6, LAST_USE.hour} and now <= LAST_USE

        def save(session: Session) -> None:
            cache_id = session.exec(select(Cache.id)).one()
            uses = {cache_id: ClaimUse(now, "pod evening", ("Pod evening mounts it.",))}
            sweep(session, CacheUsage(row_id, uses if is_used else {}, {}), self._policy, now)

        return Step(None, save)

    def on_failure(self, _session: Session, _row_id: str, trouble: Trouble, /) -> None:
        raise AssertionError(trouble.sentence)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """On SQLite alone: that slots are claimed once on PostgreSQL is tested with schedules."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


@pytest.mark.slow
def test_a_month_of_sweeps_over_a_clock_change(database: Database) -> None:
    clock, policy = FrozenClock(), settings()
    clock.moment = BEGIN
    database.transaction(lambda session: _cached(session, BEGIN))
    entry = cache_expiry.job
    job = ScheduledJob(entry.name, entry.cron, "UTC", partial(look_through, policy))
    tables = [Timetable(database, clock, [job]) for _ in range(2)]
    loops = [Loop(database, clock, [Sweeping(clock, policy)]) for _ in range(2)]
    for table in tables:
        table.start()
        table.stop()
    marked_at = None
    for _ in range(DAYS * 24):
        clock.moment += STEP
        for table in tables:
            table.look_at_all()
        assert sum(loop.run_due() for loop in loops) == 1
        cache = database.read(lambda session: session.exec(select(Cache)).one())
        if cache.wanted == CacheIntent.EVICT and marked_at is None:
            marked_at = clock.moment
    assert marked_at == LAST_USE.astimezone(UTC) + timedelta(days=1)
    assert marked_at.astimezone(BERLIN).hour == LAST_USE.hour + 1
    assert _said(database) == _expected()
    runs = database.read(lambda session: session.exec(select(ScheduleRun.slot)).all())
    assert len(runs) == len(set(runs)) == DAYS * 24


def _cached(session: Session, now: datetime) -> None:
    cache = add_cached(session)
    cache.asked_at = cache.used_at = cache.since = now
    cache.keep_seconds = 86_400


def _said(database: Database) -> list[tuple[str, datetime]]:
    def work(session: Session) -> list[tuple[str, datetime]]:
        rows = session.exec(select(Message).order_by(col(Message.id))).all()
        return [(each.purpose.rpartition("-")[0], each.created_at) for each in rows]

    return database.read(work)


def _expected() -> list[tuple[str, datetime]]:
    """One notice, four hours before a day has passed since the last use: 20 hours after it."""
    return [("notice", LAST_USE.astimezone(UTC) + timedelta(hours=20))]
