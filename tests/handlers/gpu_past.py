"""Samples of GPUs as a bot has them: taken now, or written as if they had been."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.cluster.resources import HOLDERS
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import minute_of
from bot.gpus.samples import rollup
from bot.gpus.samples.sampling import SampleController
from bot.gpus.tables import Series, What
from bot.quotas.engines.registry import Engines
from bot.slack.grammar.parameters import Reference
from bot.training.tables import Run
from tests.handlers.command_client import (
    ALICE,
    TEAM_A,
    CommandClient,
)

MINUTE = timedelta(minutes=1)
HELD, BUSY, IDLE = Amounts(4000), Amounts(4000, 4000, 3000, 0, 60, 80), Amounts(2000, 2000, 0, 2000)


def sample(client: CommandClient) -> None:
    """What the clock does every minute, done as a minute begins: it lasts for the answers."""
    app = client.application
    app.clock.shift(MINUTE - timedelta(seconds=datetime.now(UTC).timestamp() % 60))
    engines = Engines(app.settings, app.clusters)
    sampler = SampleController(app.database, app.clock, app.settings, app.clusters, engines.of)
    app.database.transaction(sampler.step("default").save)


def held(client: CommandClient, name: str, team: str = "team-a", **more: Any) -> int:
    """A series of a run of somebody, or what others started where it has no run."""
    kind = What.RUN if more.get("run_id") else What.OTHER
    fields: dict[str, Any] = {
        "what": kind,
        "cluster": "default",
        "key": name,
        "team": team,
        "name": name,
    }

    def work(session: Session) -> int:
        row = Series(**{**fields, "gpu_type": "h100", **more})
        session.add(row)
        session.flush()
        assert row.id is not None
        return row.id

    return client.application.database.transaction(work)


def sampled(client: CommandClient, minutes: int, entries: Mapping[int, Amounts]) -> None:
    """So many minutes up to now in which the same was seen."""
    now = minute_of(datetime.now(UTC))

    def work(session: Session) -> None:
        clock = Series(what=What.SAMPLED, cluster="default", key="clock")
        session.add(clock)
        session.flush()
        rollup.begin(session, "default", now - minutes - 60)
        for minute in range(now - minutes, now + 1):
            one = {clock.id or 0: Amounts(1000)}
            rollup.keep(session, "default", minute, {**entries, **one}, is_measured=True)

    client.application.database.transaction(work)


def submitted(client: CommandClient, name: str) -> str:
    """The id of a run of alice's."""
    client.says(ALICE, TEAM_A, f"/train submit {name} --image acme/lane:1 --gpus 4 -- python x.py")
    app = client.application
    found = app.database.read(
        lambda session: app.services.training.runs.find(session, "team-a", Reference(name, None))
    )
    return found.id


def begun_half_an_hour_ago(client: CommandClient, run_id: str) -> None:
    def work(session: Session) -> None:
        run = session.get_one(Run, run_id)
        run.started_at = datetime.now(UTC) - 30 * MINUTE
        session.add(run)

    client.application.database.transaction(work)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def held_pods(client: CommandClient) -> int:
    [cluster] = client.application.clusters.values()
    return sum(1 for pod in cluster.view.all(HOLDERS) if pod.spec.node_name)
