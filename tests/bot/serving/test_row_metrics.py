"""Metrics that are read from rows: what Prometheus is shown of a furnished database."""

import json
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.clock import Clock
from bot.cluster.resources import CLUSTER_QUEUES
from bot.database import schema
from bot.database.database import Database, Session
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.quotas.engines.quota import ANNOTATION
from bot.serving.metrics import RowMetrics
from tests.bot.cluster.api.api_server import eventually
from tests.bot.serving.busy import busy
from tests.handlers.command_client import CommandClient
from tests.handlers.conftest import runner, served
from tests.playground.cluster.served import KUEUE, Served

__all__ = ["runner", "served"]

GIB = 2**30
LONG_SECONDS = 60.0


def shown(metrics: RowMetrics) -> dict[str, float]:
    """The values that are not 0, as Prometheus writes their series."""
    found = {}
    for family in metrics.collect():
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sample.labels.items())
            found[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    return {name: value for name, value in found.items() if value}


def test_metrics_show_what_rows_say(database_url: str, served: Served, tmp_path: Path) -> None:
    with busy(tmp_path, database_url, served) as (_, metrics):
        assert shown(metrics) == {
            "quartermaster_database_up": 1,
            "quartermaster_due_lag_seconds{kind=override}": 420,
            "quartermaster_due_late_rows{kind=override}": 1,
            "quartermaster_due_lag_seconds{kind=run}": 7,
            "quartermaster_outbox_oldest_seconds": 540,
            "quartermaster_outbox_failing_messages": 1,
            "quartermaster_approvals_waiting{policy=quota_override}": 2,
            "quartermaster_approval_oldest_seconds{policy=quota_override}": 10_800,
            "quartermaster_quota_overrides_active{cluster=default,team=team-a}": 2,
            "quartermaster_quota_override_overdue_seconds{cluster=default,team=team-a}": 7_200,
            "quartermaster_caches{phase=ready}": 1,
            "quartermaster_cache_used_bytes{cluster=default,storage_class=standard}": 300 * GIB,
            "quartermaster_cache_limit_bytes{cluster=default,storage_class=standard}": 1024 * GIB,
            "quartermaster_runs{cluster=default,team=team-a,phase=pending}": 2,
            "quartermaster_runs{cluster=default,team=team-a,phase=running}": 2,
            "quartermaster_runs{cluster=default,team=team-b,phase=running}": 1,
            "quartermaster_run_longest_wait_seconds{cluster=default,team=team-a}": 1_200,
            "quartermaster_sessions_idle{cluster=default,team=team-a}": 1,
            "quartermaster_gpus{cluster=default}": 16,
            "quartermaster_gpus_schedulable{cluster=default}": 8,
            "quartermaster_gpus_allocated{cluster=default,team=team-a}": 6,
            "quartermaster_gpus_allocated{cluster=default,team=}": 1.5,
            "quartermaster_gpus_measured{cluster=default,team=team-a}": 6,
            "quartermaster_gpus_busy{cluster=default,team=team-a}": 0.5,
            "quartermaster_gpus_idle{cluster=default,team=team-a}": 4,
            "quartermaster_idle_workloads{cluster=default,team=team-a}": 1,
            "quartermaster_quota_gpus{cluster=default,team=team-a}": 4,
            "quartermaster_quota_borrowed_gpus{cluster=default,team=team-a}": 2,
            "quartermaster_gpu_sample_age_seconds{cluster=default}": 60,
            "quartermaster_gpu_use_age_seconds{cluster=default}": 60,
            "quartermaster_gpu_missing_sample_minutes{cluster=default}": 2,
        }


def test_teams_without_work_have_zeros(served: Served, tmp_path: Path) -> None:
    with busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (_, metrics):
        families = {family.name: family for family in metrics.collect()}
    team = {"cluster": "default", "team": "team-b"}
    for name in ("quota_overrides_active", "quota_override_overdue_seconds", "idle_workloads"):
        samples = families[f"quartermaster_{name}"].samples
        assert [each.value for each in samples if each.labels == team] == [0]
    phases = [
        each.labels["phase"]
        for each in families["quartermaster_runs"].samples
        if each.labels["team"] == "team-b"
    ]
    assert phases == [
        "asked", "waiting-for-runs", "waiting-for-data", "pending", "preempted", "creating",
        "running",
    ]  # fmt: skip


def test_old_samples_show_only_their_age(served: Served, tmp_path: Path) -> None:
    with busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (client, metrics):
        bot = client.application
        bot.database.transaction(
            lambda session: session.connection().exec_driver_sql(
                "UPDATE gpu_samples SET minute = minute - 30"
            )
        )
        named = {name for name in shown(metrics) if name.startswith("quartermaster_gpu")}
    assert named == {
        "quartermaster_gpu_sample_age_seconds{cluster=default}",
        "quartermaster_gpu_use_age_seconds{cluster=default}",
        "quartermaster_gpu_missing_sample_minutes{cluster=default}",
    }


def annotate(served: Served, client: CommandClient, until: str) -> None:
    """Has a queue say that an unknown override of this installation ends then."""
    installation = client.application.database.transaction(schema.installation)
    note = {"ids": ["lost"], "baseline": "8", "value": "12", "until": until}
    fields = {"h100/nvidia.com/gpu/nominalQuota": note}
    written = json.dumps({"installation": installation, "fields": fields})
    change = {"metadata": {"annotations": {ANNOTATION: written}}}
    served.patch(f"{KUEUE}/clusterqueues/team-b", change)
    cluster = client.application.clusters["default"]

    def is_seen() -> bool:
        queues = cluster.view.all(CLUSTER_QUEUES)
        return written in {each.metadata.annotations.get(ANNOTATION) for each in queues}

    eventually(is_seen)


def test_annotations_without_rows_are_overdue_too(served: Served, tmp_path: Path) -> None:
    with busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (client, metrics):
        annotate(served, client, "2026-11-21T09:00:00Z")
        name = "quartermaster_quota_override_overdue_seconds{cluster=default,team=}"
        assert shown(metrics)[name] == timedelta(hours=3).total_seconds()


@pytest.mark.parametrize("until", ["2026-11-21", "soon"])
def test_broken_annotations_leave_the_metrics(served: Served, tmp_path: Path, until: str) -> None:
    with busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (client, metrics):
        annotate(served, client, until)
        found = shown(metrics)
    assert found["quartermaster_database_up"] == 1
    assert not [name for name in found if name.endswith("overdue_seconds{cluster=default,team=}")]


def test_a_dead_database_is_shown(served: Served, tmp_path: Path) -> None:
    with busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (client, metrics):
        client.application.database.transaction(
            lambda session: session.connection().exec_driver_sql("DROP TABLE approvals")
        )
        names = [family.name for family in metrics.collect()]
        text = metrics.text().decode()
    assert names == ["quartermaster_database_up"]
    assert "quartermaster_database_up 0.0\n" in text
    assert "# TYPE quartermaster_outbox_messages gauge\n" in text


def test_a_hanging_database_delays_no_scrape(database: Database) -> None:
    gauge = GaugeSpec("quartermaster_test", "A value that comes late")
    answers, looks = threading.Event(), iter(range(1, 10))

    def read(_session: Session, _now: datetime) -> list[Reading]:
        value = next(looks)
        answers.wait(LONG_SECONDS)
        return [gauge.at(value)]

    sources = (GaugeSource((gauge,), read),)
    metrics = RowMetrics(database, Clock(), sources, patience_seconds=0.1)
    try:
        for _ in range(3):
            assert [family.name for family in metrics.collect()] == ["quartermaster_database_up"]
            assert shown(metrics) == {}
        assert next(looks) == 2  # one look waits for it
    finally:
        answers.set()
    eventually(lambda: "quartermaster_test" in shown(metrics))
