"""A year of days, after which no table has more rows than its bound says."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, func, select

import bot.serving.serving  # noqa: F401  # so that all tables are known
from bot import deliveries, holds
from bot.database.database import Database
from bot.deliveries import Delivery
from bot.gpus.waits.tables import GpuWait
from bot.holds import Hold
from bot.quotas.steps.tables import QuotaStep
from bot.reconcile import due
from bot.reconcile.due import Due
from bot.schedule import ScheduleRun
from bot.slack.files import MessageDocument
from bot.slack.home import tabs
from bot.slack.home.tabs import HomeOpened, HomeTab
from bot.slack.messages import Message
from bot.training.tables import KeptLog, LogFollow, Run, RunOffer, RunWatch
from jobs import retention

SEED = 20261123
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 365
EACH_DAY = 3
PAGE = Path(__file__).parents[2] / "docs" / "growth.md"


def bounds() -> dict[str, str]:
    """What the page says of each table."""
    return dict(re.findall(r"^\| ([a-z_]+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)[1:])


def test_every_table_has_a_bound_in_words() -> None:
    assert list(bounds()) == sorted(SQLModel.metadata.tables)


Fill = Callable[[Session, str, datetime], None]


def fill_due(session: Session, name: str, at: datetime) -> None:
    due.wake(session, "run", name, "cluster:default", at)
    (held,) = due.claim(session, due.ClaimQuery(("run",), 1, 1), at, at)
    due.settle(session, held, None, at)


def fill_delivery(session: Session, name: str, at: datetime) -> None:
    deliveries.remember(session, name, name, at)


def fill_hold(session: Session, name: str, at: datetime) -> None:
    words: Any = dict.fromkeys(HOLD, name)
    holds.take(session, Hold(**words, until=at + timedelta(days=2)))


HOLD = ("thing_kind", "thing_id", "subject_kind", "subject_id", "why")


def fill_log(session: Session, name: str, at: datetime) -> None:
    session.add(KeptLog(run_id=name, pod_uid=name, pod=name, lines=["step 1"], kept_at=at))


def fill_offer(session: Session, name: str, at: datetime) -> None:
    words: Any = dict.fromkeys(("workspace_id", "team", "person", "cluster", "name"), name)
    session.add(RunOffer(**words, spec={}, plans=[], asked_at=at))


def fill_follow(session: Session, name: str, at: datetime) -> None:
    words: Any = dict.fromkeys(("workspace_id", "team", "person", "run_id"), name)
    session.add(LogFollow(**words, lines=50, begun_at=at, until=at, ended_at=at))


def fill_tab(session: Session, name: str, at: datetime) -> None:
    tabs.seen(session, "T0QM", HomeOpened(name, "D0", is_blank=True), at)


def fill_watch(session: Session, name: str, at: datetime) -> None:
    """Of a run that a bot of an older version ended."""
    session.get_one(Run, name).ended_at = at
    session.add(RunWatch(run_id=name, person=name, began_at=at))


def fill_wait(session: Session, name: str, at: datetime) -> None:
    words: Any = dict.fromkeys(("workspace_id", "team", "person", "cluster", "gpu_type"), name)
    session.add(GpuWait(**words, gpus=1000, asked_at=at, until=at, ended_at=at))


def fill_step(session: Session, name: str, at: datetime) -> None:
    session.add(QuotaStep(workspace_id=name, execution_id=name, asked_at=at, ended_at=at))


def fill_slot(session: Session, name: str, at: datetime) -> None:
    session.add(ScheduleRun(name=name, slot=at, claimed_at=at))


def fill_message(session: Session, name: str, at: datetime) -> None:
    about: Any = {
        "workspace_id": "T0QM",
        "subject_kind": "run",
        "subject_id": name,
        "channel": "C0",
    }
    said: Any = {"created_at": at, "wants": 1, "shown": 1, "live": False}
    session.add(Message(**about, **said, purpose="ended"))


def fill_document(session: Session, name: str, at: datetime) -> None:
    session.flush()
    message = session.exec(select(Message).where(Message.subject_id == name)).one()
    words: Any = dict.fromkeys(("name", "title", "asked_in"), name)
    session.add(MessageDocument(**words, message_id=message.id, content=b"x", created_at=at))


# A day's rows of each table from which the job removes some, and for how long each stays.
REMOVED: dict[type[SQLModel], tuple[Fill, timedelta]] = {
    Delivery: (fill_delivery, timedelta(hours=24)),
    Due: (fill_due, timedelta(0)),
    GpuWait: (fill_wait, timedelta(days=1)),
    Hold: (fill_hold, timedelta(days=3)),
    HomeTab: (fill_tab, timedelta(days=30)),
    KeptLog: (fill_log, timedelta(days=30)),
    LogFollow: (fill_follow, timedelta(days=1)),
    Message: (fill_message, timedelta(days=30)),
    MessageDocument: (fill_document, timedelta(0)),
    QuotaStep: (fill_step, timedelta(days=1)),
    RunOffer: (fill_offer, timedelta(hours=24)),
    RunWatch: (fill_watch, timedelta(0)),
    ScheduleRun: (fill_slot, timedelta(days=30)),
}
# What is removed elsewhere, where its tests are.
ELSEWHERE = {"dataset_drops", "gpu_faults", "gpu_hours", "gpu_pods", "gpu_samples"}


def test_all_that_is_not_kept_is_removed() -> None:
    kept = ("record: ", "as many as there are: ", "one row")
    removed = {name for name, bound in bounds().items() if not bound.startswith(kept)}
    assert removed - ELSEWHERE == {str(each.__tablename__) for each in REMOVED}


@pytest.mark.slow
def test_a_year_leaves_what_the_bounds_say(database: Database) -> None:
    chance, most = Random(SEED), dict.fromkeys(REMOVED, 0)  # noqa: S311  # no exact moments
    for day in range(DAYS):
        at = BEGIN + timedelta(days=day, seconds=chance.uniform(0, 80_000))
        evening = at + timedelta(seconds=chance.uniform(1, 5_000))
        database.transaction(partial(fill_a_day, at))
        database.transaction(partial(retention.remove, now=evening, real_now=evening))
        for table, rows in database.read(count).items():
            most[table] = max(most[table], rows)
    for table, (_, stays) in REMOVED.items():
        days = stays // timedelta(days=1)
        assert days * EACH_DAY <= most[table] <= (days + 2) * EACH_DAY, table


def count(session: Session) -> dict[type[SQLModel], int]:
    return {
        table: session.scalar(select(func.count()).select_from(table)) or 0 for table in REMOVED
    }


def fill_a_day(at: datetime, session: Session) -> None:
    for number in range(EACH_DAY):
        name = f"{at:%Y%m%d}-{number}"
        session.add(a_run(name, at))
        session.flush()
        for fill, _ in REMOVED.values():
            fill(session, name, at + timedelta(seconds=number))


def a_run(name: str, at: datetime) -> Run:
    words = ("workspace_id", "team", "name", "person", "channel", "cluster", "namespace", "queue")
    values: Any = dict.fromkeys((*words, "id", "job_name"), name)
    return Run(**values, number=1, spec={}, asked_at=at, since=at)


def test_a_row_that_was_removed_wakes_again(database: Database) -> None:
    def sleep(session: Session) -> None:
        fill_due(session, "a", BEGIN)
        due.wake(session, "run", "b", "cluster:default", BEGIN)
        due.forget(session)
        due.wake(session, "run", "a", "cluster:default", BEGIN)

    database.transaction(sleep)
    claimed = database.transaction(
        lambda session: due.claim(session, due.ClaimQuery(("run",), 8, 8), BEGIN, BEGIN)
    )
    assert [each.id for each in claimed] == ["a", "b"]


def test_removing_takes_a_few_rows_at_a_time(database: Database) -> None:
    def many(session: Session) -> None:
        for number in range(1500):
            fill_slot(session, f"job-{number}", BEGIN)

    database.transaction(many)
    left = []
    for _ in range(2):
        later = partial(
            retention.remove, now=BEGIN + timedelta(days=31), real_now=datetime.now(UTC)
        )
        database.transaction(later)
        left.append(database.read(lambda session: len(session.exec(select(ScheduleRun)).all())))
    assert left == [500, 0]
