"""Which snapshots of a schedule go, over simulated years of every kind."""

from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session, col, select

from bot import holds
from bot.database.columns import new_id
from bot.database.database import Database
from bot.holds import Hold
from bot.snapshots.keepers import PIN
from bot.snapshots.snapshots.service import expire
from bot.snapshots.tables import (
    RESTORE,
    SNAPSHOT,
    Snapshot,
    SnapshotIntent,
    SnapshotPhase,
    SnapshotSchedule,
)
from tests.bot.ground import ALICE, START
from tests.databases import create_tables

DAY = timedelta(days=1)
OF_PVC: dict[str, Any] = {
    "workspace_id": "T0QM",
    "team": "team-a",
    "person": ALICE,
    "channel": "C0TEAMA",
    "cluster": "default",
    "namespace": "team-a",
    "claim_name": "results",
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    return Database(url)


def planned(session: Session, keep: timedelta | None, most: int | None) -> SnapshotSchedule:
    row = SnapshotSchedule(
        **OF_PVC, cron="0 2 * * *", time_zone="UTC", asked_at=START, next_at=START, most=most
    )
    row.keep_seconds = None if keep is None else int(keep.total_seconds())
    session.add(row)
    session.flush()
    return row


def begun(session: Session, row: SnapshotSchedule, now: datetime) -> Snapshot:
    row_id = new_id()
    made = Snapshot(
        **OF_PVC,
        id=row_id,
        claim_uid="uid-of-results",
        storage_class="standard",
        driver="csi.playground",
        capacity_bytes=2**40,
        name=f"results-{row_id[-10:]}",
        schedule_id=row.id,
        slot=now,
        asked_at=now,
        since=now,
        phase=SnapshotPhase.TAKING,
        keep_until=None if row.keep is None else now + row.keep,
    )
    session.add(made)
    return made


def hold(session: Session, row: Snapshot, kind: str, until: datetime | None) -> None:
    thing: dict[str, Any] = {
        "thing_kind": SNAPSHOT,
        "thing_id": row.id,
        "why": "paper",
        "until": until,
    }
    holds.take(session, Hold(**thing, subject_kind=kind, subject_id=ALICE))


class Year:
    """A year of one schedule, in which a day brings this and that."""

    def __init__(self, session: Session, row: SnapshotSchedule, chance: Random) -> None:
        self.session, self.row, self.chance = session, row, chance

    def day(self, now: datetime) -> None:
        """A snapshot is taken, or fails, or stays under way; one may be held; time is up."""
        made = begun(self.session, self.row, now)
        luck = self.chance.random()
        if luck < 0.8:
            made.phase, made.taken_at = SnapshotPhase.READY, now
        elif luck < 0.9:
            made.phase, made.ended_at = SnapshotPhase.FAILED, now
        self.session.flush()
        ready = [each for each in self.rows() if each.is_usable]
        if ready and self.chance.random() < 0.1:
            kind, until = self.chance.choice([(PIN, now + 30 * DAY), (RESTORE, None)])
            hold(self.session, self.chance.choice(ready), kind, until)
        self._ends(now)

    def rows(self) -> list[Snapshot]:
        there = select(Snapshot).where(col(Snapshot.ended_at).is_(None))
        return list(self.session.exec(there))

    def _ends(self, now: datetime) -> None:
        before = {each.id for each in self.rows() if each.is_usable}
        expire(self.session, now)
        left = [each for each in self.rows() if each.is_usable]
        gone = before - {each.id for each in left}
        newest = max(before, key=lambda each: self.session.get_one(Snapshot, each).taken_at or now,
                     default=None)  # fmt: skip
        assert newest not in gone
        assert not any(holds.on(self.session, SNAPSHOT, each, now) for each in gone)
        for each in self.rows():
            if each.id in gone:
                each.phase, each.ended_at = SnapshotPhase.DELETED, now
        free = [each for each in left if not holds.on(self.session, SNAPSHOT, each.id, now)]
        if self.row.most is not None:
            assert len(free) <= self.row.most


@pytest.mark.slow
@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    keep=st.none() | st.integers(1, 30).map(lambda days: days * DAY),
    most=st.integers(1, 14),
    seed=st.integers(),
)
def test_a_year_keeps_newest_and_held(
    database: Database, keep: timedelta | None, most: int, seed: int
) -> None:
    # A session of the test's own: a transaction of the bot may not last for a year. It is undone.
    with Session(database._write) as session:
        year = Year(session, planned(session, keep, most), Random(seed))  # noqa: S311 - no secret
        for number in range(365):
            year.day(START + number * DAY)


def test_pins_take_nobodys_place(database: Database) -> None:
    def work(session: Session) -> list[tuple[str, bool]]:
        row = planned(session, None, 2)
        made = [begun(session, row, START + number * DAY) for number in range(5)]
        for each in made:
            each.phase, each.taken_at = SnapshotPhase.READY, each.asked_at
        made[1].phase, made[1].taken_at = SnapshotPhase.TAKING, None
        session.flush()
        hold(session, made[3], PIN, START + 90 * DAY)
        expire(session, START + 5 * DAY)
        return [(each.wanted, each.is_surplus) for each in made]

    kept, going = (str(SnapshotIntent.KEPT), False), (str(SnapshotIntent.DELETED), True)
    assert database.transaction(work) == [going, kept, kept, kept, kept]


def test_who_needs_a_surplus_one_keeps_it(database: Database) -> None:
    def work(session: Session) -> list[str]:
        row = planned(session, None, 1)
        made = [begun(session, row, START + number * DAY) for number in range(2)]
        for each in made:
            each.phase, each.taken_at = SnapshotPhase.READY, each.asked_at
        session.flush()
        expire(session, START + 2 * DAY)
        # As the controller notes that the cluster still has a PVC that shows it.
        made[0].wanted, made[0].keep_until = SnapshotIntent.KEPT, START + 3 * DAY
        found: list[str] = [made[0].wanted]
        for day in (2, 3):
            expire(session, START + day * DAY + timedelta(hours=1))
            found.append(made[0].wanted)
        return found

    assert database.transaction(work) == [
        SnapshotIntent.KEPT,
        SnapshotIntent.KEPT,
        SnapshotIntent.DELETED,
    ]
