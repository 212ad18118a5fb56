"""Training runs whose GPUs do nothing: told, reminded, and stopped where a team wants that."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import Session, select

from bot.config import ClusterSettings, Settings
from bot.database.database import Database
from bot.gpus.amounts import Amounts
from bot.gpus.idle.runs import idle_runs
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import Now, SeriesUsage
from bot.slack.messages import Message
from bot.training.idle.runs import IdleRun, IdleRunService
from bot.training.tables import Run, RunPhase
from tests.bot.gpus.digests.days import add_run
from tests.bot.quotas.people import settings as story

BEGIN = datetime.fromisoformat("2026-11-20T08:00+00:00")
MINUTE = timedelta(minutes=1)
SINCE = BEGIN + 10 * MINUTE
POSTED = update(Message).values(ts="1.0")


class Idling:
    """A run that idles, and what its people are told of it."""

    def __init__(self, database: Database, **policy: Any) -> None:
        self.database = database
        whole = story().model_dump(exclude_defaults=True)
        whole["teams"]["team-a"]["idle"] = policy
        self.settings = Settings.model_validate(whole)
        self.stopped: list[tuple[list[str], str]] = []
        self.service = IdleRunService(lambda: self.settings, self.stop)

    def add(self, **also: Any) -> None:
        self.database.transaction(
            lambda session: add_run(session, "lane", since=BEGIN, job_uid="uid-1", **also)
        )

    def stop(self, _session: Session, uids: Any, why: str, _now: datetime) -> None:
        self.stopped.append((list(uids), why))

    def look(
        self, minutes: int, *, since: datetime = SINCE, posts: bool = True, late: int = 0
    ) -> list[str]:
        """What is said for the first time so long after it fell idle."""
        before = len(self.said())
        now = since + minutes * MINUTE
        idle = IdleRun("run-lane", since, now - late * MINUTE)
        self.database.transaction(lambda session: self.service.seen(session, idle, now))
        if posts:
            self.database.transaction(lambda session: session.connection().execute(POSTED))
        return self.said()[before:]

    def said(self) -> list[str]:
        rows = self.database.read(
            lambda session: list(session.exec(select(Message).order_by(Message.id)))
        )
        return ["\n".join(row.content or ()) for row in rows]


WHEN = "<!date^1795162200^{date_short_pretty} {time}|2026-11-20 08:10 UTC>"
TOLD = (
    f"<@U0ALICE> lane: its GPUs have been idle since {WHEN}. Holding memory does not count as work."
)
AGAIN = TOLD.replace("have been", "have still been")
REST = " Others may be waiting for them."


def test_owner_is_told_once_and_reminded(database: Database) -> None:
    idling = Idling(database)
    idling.add()
    said = [idling.look(minutes) for minutes in (55, 60, 65, 179, 180, 600)]
    assert said == [[], [TOLD + REST], [], [], [AGAIN + REST], []]
    again = idling.look(60, since=SINCE + timedelta(days=1))
    assert len(again) == 1
    assert idling.stopped == []


def test_run_is_stopped_after_a_notice(database: Database) -> None:
    idling = Idling(database, notice_after="off", remind_after="off", stop_after="2h")
    idling.add()
    assert idling.look(85) == []
    [warned] = idling.look(90)
    assert warned.startswith(
        f"<@U0ALICE> lane: its GPUs have been idle since {WHEN}. It is stopped "
    )
    assert "2026-11-20 10:10 UTC" in warned
    assert (idling.look(115), idling.stopped) == ([], [])
    assert idling.look(120) == []
    assert idling.stopped == [(["uid-1"], "Its GPUs were idle for 2h.")]


def test_nobody_is_stopped_without_notice_in_slack(database: Database) -> None:
    idling = Idling(database, notice_after="off", remind_after="off", stop_after="2h")
    idling.add()
    assert len(idling.look(600, posts=False)) == 1  # the bot was away, and Slack is
    for minutes in range(605, 700, 5):
        idling.look(minutes, posts=False)
    assert idling.stopped == []
    idling.look(700)
    for minutes in range(705, 725, 5):
        idling.look(minutes)
    assert idling.stopped == []
    idling.look(735)
    assert idling.stopped == [(["uid-1"], "Its GPUs were idle for 12h 15m.")]


@pytest.mark.parametrize(
    "also",
    [
        {"phase": RunPhase.PREEMPTED},
        {"wanted": "stop"},
        {"kept_until": SINCE + timedelta(days=1)},
        {"spec": {"session_seconds": 60, "gpus": "1", "image": "x", "cpu": "1", "memory": "1Gi"}},
    ],
)
def test_some_runs_are_let_be(database: Database, also: dict[str, Any]) -> None:
    idling = Idling(database, stop_after="2h")
    database.transaction(
        lambda session: add_run(session, "lane", **{"since": BEGIN, "job_uid": "uid-1", **also})
    )
    assert [idling.look(minutes) for minutes in (60, 180, 300)] == [[], [], []]
    assert idling.stopped == []


def test_figures_that_come_late_stop_later(database: Database) -> None:
    idling = Idling(database, stop_after="2h")
    idling.add()
    for minutes in (90, 120, 139):
        idling.look(minutes, late=20)
    assert idling.stopped == []
    idling.look(140, late=20)
    assert idling.stopped == [(["uid-1"], "Its GPUs were idle for 2h.")]


def test_idleness_counts_from_when_the_run_began(database: Database) -> None:
    """Its GPUs were held before its program ran, so that they did nothing even then."""
    idling = Idling(database)
    database.transaction(
        lambda session: add_run(session, "lane", since=SINCE + 20 * MINUTE, job_uid="uid-1")
    )
    later = WHEN.replace("1795162200", "1795163400").replace("08:10", "08:30")
    said = [idling.look(minutes) for minutes in (60, 79, 80, 85)]
    assert said == [[], [], [TOLD.replace(WHEN, later) + REST], []]


def test_excluded_names_are_let_be(database: Database) -> None:
    idling = Idling(database, exclude=["debug-*", "la?e"])
    idling.add()
    assert idling.look(600) == []


def test_idle_is_what_all_samples_say() -> None:
    now = SINCE + 60 * MINUTE
    parts = (
        part(1, "run-lane", SINCE),
        part(2, "run-lane", SINCE + MINUTE),
        part(3, "run-half", SINCE),
        part(4, "run-half", None),
        part(5, "", SINCE),
    )
    seen = Now("default", sampled_at=now, parts=parts, measured_at=now - MINUTE)
    at = ClusterSettings()
    assert idle_runs(seen, at, now) == [IdleRun("run-lane", SINCE + MINUTE, now)]
    assert idle_runs(seen, at, now + 10 * MINUTE) == []
    assert idle_runs(Now("default", sampled_at=now, parts=parts), at, now) == []


def part(number: int, run_id: str, since: datetime | None) -> SeriesUsage:
    who = Who(number, "run", "default", "team-a", "", run_id, "", "", "", "", "", since)
    return SeriesUsage(who, Amounts(1000, 1000, 0, 1000))


def test_rows_of_runs_keep_the_notice(database: Database) -> None:
    idling = Idling(database, stop_after="1h")
    idling.add()
    idling.look(30)
    run = database.read(lambda session: session.exec(select(Run)).one())
    assert run.warned_at == SINCE + 30 * MINUTE
