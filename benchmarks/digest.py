"""What samples of GPUs cost: to take one, to keep a month of them, and to read days and months.

512 GPUs, 40 teams, minute by minute; on SQLite, and on PostgreSQL where its programs are found.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlmodel import Session

from benchmarks.rig.children import python, timed
from benchmarks.rig.figures import Aim, Report, command, median
from benchmarks.rig.gpu_past import END, GPUS, TEAMS, Past
from benchmarks.rig.gpu_present import cluster, prometheus, runs
from bot.clock import Clock
from bot.config import Prices, Settings
from bot.database import schema
from bot.database.database import Database
from bot.gpus.reports.report import By, Question, report
from bot.gpus.samples.measuring import MeasureController
from bot.gpus.samples.sampling import SampleController
from bot.gpus.samples.usage import Window, use
from bot.quotas.engines.registry import Engines
from tests.postgres import programs_of_postgres, running

MONTH, MOST_REPORT_MS, MOST_CYCLE_MS, MOST_TIMES = 30, 1_000.0, 100.0, 1.5
MOST_DIGEST_MS, MOST_DIGEST_MB = 1_000.0, 150.0
_DAYS, _DAYS_QUICK, _TIMES_MORE = 30, 10, 10
_ROUNDS = 7


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """Each database with a little and with ten times as much of the past."""
    days = _DAYS_QUICK if quick else _DAYS
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, _databases(Path(folder)) as fresh:
        for name, urls in fresh.items():
            figures[name] = _measured(urls, days)
    aims = [aim for name, each in figures.items() for aim in _aims(name, each)]
    return Report(figures, aims)


def _aims(name: str, figures: dict[str, float]) -> Iterator[Aim]:
    yield Aim(f"{name}: report of a month in ms", figures["month_ms"], MOST_REPORT_MS)
    yield Aim(f"{name}: a sampling cycle in ms", figures["cycle_ms"], MOST_CYCLE_MS)
    for name_of, words in (("digest", "a digest"), ("week", "a digest of a week")):
        yield Aim(f"{name}: {words} in ms", figures[f"{name_of}_ms"], MOST_DIGEST_MS)
        more = figures[f"{name_of}_mb"] - figures["idle_mb"]
        yield Aim(f"{name}: {words}, MB more than idle", more, MOST_DIGEST_MB)
    times = figures["day_ms"] / figures["day_little_history_ms"]
    yield Aim(f"{name}: a day with ten times the history, times", times, MOST_TIMES)


def _measured(urls: tuple[str, str], days: int) -> dict[str, float]:
    little, much = (_opened(url) for url in urls)
    try:
        empty = _bytes(much)
        Past(days // _TIMES_MORE).write(little)
        Past(days).write(much)
        kept = _bytes(much) - empty
        day = Window(END - timedelta(days=1), END)
        before, after = _in_turn(
            lambda: little.read(lambda session: use(session, day)),
            lambda: much.read(lambda session: use(session, day)),
        )
        by_run = _timed(lambda: much.read(lambda session: _report(session, days, By.RUN)))
        by_team = _timed(lambda: much.read(lambda session: _report(session, days, By.TEAM)))
        first, cycle = _cycles(much)
        return {
            **_digests(urls[1]),
            "month_ms": max(by_run, by_team),
            "day_ms": after,
            "day_little_history_ms": before,
            "cycle_ms": cycle,
            "first_cycle_ms": first,
            "kb_a_gpu_month": kept / 1e3 / GPUS * MONTH / days,
        }
    finally:
        little.close()
        much.close()


def _digests(url: str) -> dict[str, float]:
    """Digests of a day and of a week in processes of their own, beside one that makes none."""
    idle, day, week = (_child(url, days) for days in (0, 1, 7))
    return {
        "idle_mb": idle["most_mb"],
        "digest_ms": median(day["ms"]),
        "digest_mb": day["most_mb"],
        "week_ms": median(week["ms"]),
        "week_mb": week["most_mb"],
    }


def _child(url: str, days: int) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(
        timed(python("benchmarks.rig.gpu_digest", url, str(days))).said
    )
    return said


def _report(session: Session, days: int, by: By) -> object:
    asked = Question(Window(END - timedelta(days=days), END), None, by)
    return report(session, asked, Prices(), END)


def _cycles(database: Database) -> tuple[float, float]:
    """A cycle that meets 512 runs, and those after it: who holds them, and what they did."""
    running_now = runs(GPUS, TEAMS)
    database.transaction(lambda session: session.add_all(running_now))
    with prometheus(running_now) as url:
        settings = Settings.model_validate(
            {
                "workspace": "T0QM",
                "clusters": {"default": {"engine": "none", "prometheus": {"url": url}}},
                "teams": {f"team-{n}": _team(n) for n in range(TEAMS)},
            }
        )
        clusters, clock = {"default": cluster(running_now)}, Clock()
        clock.shift(END - datetime.now(UTC))
        engines = Engines(lambda: settings, clusters)
        parts = (database, clock, lambda: settings, clusters)
        sampler, measurer = SampleController(*parts, engines.of), MeasureController(*parts)

        def cycle() -> None:
            clock.shift(clock.offset + timedelta(minutes=1))
            for each in (sampler, measurer):
                database.transaction(each.step("default").save)

        first = _once(cycle)
        for _ in range(3):
            cycle()
        return first, _timed(cycle)


def _team(number: int) -> dict[str, object]:
    return {"namespace": f"team-{number}", "queue": "q"}


def _in_turn(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Both in turn, so that what else the machine does falls on both."""
    times = [(_once(one), _once(other)) for _ in range(2 * _ROUNDS)]
    first, second = zip(*times[1:], strict=True)
    return median(first), median(second)


def _timed(work: Callable[[], object]) -> float:
    return median([_once(work) for _ in range(_ROUNDS)])


def _once(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def _opened(url: str) -> Database:
    schema.upgrade(url)
    return Database(url)


def _bytes(database: Database) -> int:
    """How much the tables and indexes take."""
    if database.is_sqlite:
        query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    else:
        query = "SELECT pg_database_size(current_database())"
    return int(database.read(lambda session: session.connection().scalar(text(query))))


@contextmanager
def _databases(folder: Path) -> Iterator[dict[str, tuple[str, str]]]:
    """Two empty databases of each sort."""
    names = ("little", "much")
    little, much = (f"sqlite:///{folder}/{name}.db" for name in names)
    programs = programs_of_postgres()
    if programs is None:
        yield {"SQLite": (little, much)}
        return
    with running(programs) as server:
        yield {"SQLite": (little, much), "PostgreSQL": (server.fresh(), server.fresh())}


main = command("digest", "GPU samples: taking, storing and reading them.", measure)

if __name__ == "__main__":
    main()
