"""A bot with something of everything that metrics are read from."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlmodel import Session, SQLModel

from bot.gpus.amounts import Amounts
from bot.gpus.minutes import minute_of
from bot.gpus.samples.packing import pack
from bot.gpus.tables import MINUTE, Sample, Sampling, Series, What
from bot.quotas.tables import OverridePhase
from bot.reconcile.due import Due
from bot.reconcile.gauges import due_gauges
from bot.serving.metrics import RowMetrics
from bot.slack.messages import Message
from bot.training.tables import RunPhase
from tests.handlers.command_client import DATASETS, TEAM_A, CommandClient, opened
from tests.playground.cluster.served import Served
from tests.states.datasets import dataset, filled, recorded
from tests.states.quotas import active, asked, override
from tests.states.runs import run, running
from tests.states.state import HOUR, NOW, StandingClock
from tests.states.state import MINUTE as ONE

MORE = DATASETS + "  classes: {standard: {budget: 1Ti}, premium: {}}\n  default_class: standard\n"
KINDS = ("run", "override")


@contextmanager
def busy(folder: Path, url: str, served: Served) -> Iterator[tuple[CommandClient, RowMetrics]]:
    """The bot with these rows, at one moment for ever, and what shows its metrics."""
    with opened(folder, url, served, MORE, clock=StandingClock()) as client:
        bot = client.application
        bot.database.transaction(furnish)
        sources = (due_gauges(KINDS), *bot.gauges())
        yield client, RowMetrics(bot.database, bot.clock, sources)


def furnish(session: Session) -> None:
    """Adds the rows."""
    groups = (
        _quotas(),
        [dataset()],
        [recorded()],
        [filled(version_id=recorded().id)],
        _runs(),
        _messages(),
        _gpus(),
    )
    for rows in groups:
        session.add_all(rows)
        session.flush()


def _quotas() -> list[SQLModel]:
    return [
        active(id="active"),
        active(id="late", phase=OverridePhase.ENDING, ends_at=NOW - 2 * HOUR),
        override(id="asked"),
        asked(id="first", asked_at=NOW - 3 * HOUR),
        asked(id="second", asked_at=NOW - HOUR),
        Due(kind="override", id="late", lane="cluster:default", due_at=NOW - 7 * ONE),
        Due(kind="run", id="soon", lane="cluster:default", due_at=NOW - timedelta(seconds=7)),
        Due(kind="run", id="later", lane="cluster:default", due_at=NOW + ONE),
    ]


def _runs() -> list[SQLModel]:
    return [
        run(id="pending", name="lane", phase=RunPhase.PENDING),
        run(id="newer", name="edge", phase=RunPhase.PENDING, since=NOW - ONE),
        running(id="running", name="core"),
        running(id="idle", name="notes", idle_since=NOW - HOUR),
        running(id="theirs", name="theirs", team="team-b"),
        run(id="over", name="over", phase=RunPhase.FAILED, ended_at=NOW - HOUR),
    ]


def _messages() -> list[SQLModel]:
    def message(purpose: str, **more: Any) -> Message:
        fields: dict[str, Any] = {
            "id": purpose, "workspace_id": "T0QM", "subject_kind": "run", "subject_id": "pending",
            "purpose": purpose, "channel": TEAM_A, "created_at": NOW - 9 * ONE,
        }  # fmt: skip
        return Message(**(fields | more))

    return [
        message("card", shown=1, wants=2, created_at=NOW - HOUR),
        message("started"),
        message("failed", attempts=2, created_at=NOW - ONE),
        message("dead", is_dead=True, created_at=NOW - HOUR),
    ]


def _gpus() -> list[SQLModel]:
    """Samples of ten minutes without two, the last one measured."""
    of: dict[str, Any] = {"cluster": "default", "gpu_type": "h100"}
    rows: list[SQLModel] = [
        Series(id=1, what=What.NODES, key="nodes", **of),
        Series(id=2, what=What.READY, key="ready", **of),
        Series(id=3, what=What.RUN, key="a", team="team-a", idle_since=NOW - HOUR, **of),
        Series(id=4, what=What.OTHER, key="other", **of),
        Series(id=5, what=What.QUOTA, key="quota", team="team-a", **of),
        Series(id=6, what=What.BORROWED, key="borrowed", team="team-a", **of),
    ]
    amounts = {
        1: Amounts(16_000),
        2: Amounts(8_000),
        3: Amounts(6_000, 6_000, 500, 4_000),
        4: Amounts(1_500),
        5: Amounts(4_000),
        6: Amounts(2_000),
    }
    newest = minute_of(NOW) - 1
    rows.append(
        Sampling(cluster="default", rolled=0, measured=newest, minutes_from=0, fives_from=0)
    )
    rows += [
        Sample(cluster="default", step=MINUTE, minute=newest - age, entries=pack(amounts),
               is_measured=age == 0)
        for age in range(10)
        if age not in {4, 7}
    ]  # fmt: skip
    return rows
