"""What watches the bot: the chart's ServiceMonitor, and its alerts in a real Prometheus."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground.settings import merged
from tests.bot.serving.known_metrics import series
from tests.deploy.features import SETS, Values, config
from tests.deploy.helm_program import CHART, Helm
from tests.deploy.rendering import the
from tests.deploy.test_chart_objects import SELECTOR
from tests.prometheus import prometheus_program

SPACE = {"namespace": "quartermaster"}
PLACE = {"cluster": "lab", "team": "team-a"}
RUNBOOKS = CHART.parents[2] / "docs" / "running.md"


def of(name: str, **labels: str) -> str:
    """A series of the bot."""
    told = ",".join(f'{key}="{value}"' for key, value in (SPACE | labels).items())
    return f"quartermaster_{name}{{{told}}}"


OUTBOX = of("outbox_messages")
# What a bot shows that is well, though not idle.
WELL: Mapping[str, str] = {
    OUTBOX: "90x160",
    of("slack_sockets"): "2x160",
    of("database_up"): "1x160",
    of("due_lag_seconds", kind="run"): "200x160",
    of("watch_age_seconds", cluster="lab", resource="pods"): "500x160",
    of("quota_override_overdue_seconds", **PLACE): "500x160",
    of("outbox_oldest_seconds"): "800x160",
    of("approval_oldest_seconds", policy="quota_override"): "13000x160",
    of("gpus_idle", **PLACE): "4x80 0 4x79",
    of("cache_used_bytes", cluster="lab", storage_class="standard"): "94x160",
    of("cache_limit_bytes", cluster="lab", storage_class="standard"): "100x160",
    of("cache_used_bytes", cluster="lab", storage_class="unlimited"): "94x160",
    of("gpu_missing_sample_minutes", cluster="lab"): "9x160",
    of("gpu_sample_age_seconds", cluster="lab"): "500x160",
}
LATENCY = "quartermaster_slack_acknowledge_seconds_bucket"
# What Prometheus has seen for 155 minutes, the labels that the alert then has, and what it says.
FIRING: Mapping[str, tuple[Mapping[str, str], Mapping[str, str], str]] = {
    "QuartermasterDown": ({}, SPACE, "Prometheus has no metrics of Quartermaster."),
    "QuartermasterNotConnectedToSlack": (
        {'quartermaster_slack_sockets{namespace="quartermaster"}': "0x160"},
        {},
        "No connection to Slack works, so commands are not received.",
    ),
    "QuartermasterBehind": (
        {'quartermaster_due_lag_seconds{namespace="quartermaster",kind="run"}': "400x160"},
        {"kind": "run"},
        "Work of kind run is overdue for 6m 40s.",
    ),
    "QuartermasterMessagesWait": (
        {OUTBOX: "150x160"},
        SPACE,
        "Slack does not show the current state of 150 messages.",
    ),
    "QuartermasterClusterViewStale": (
        {
            'quartermaster_watch_age_seconds{namespace="quartermaster",cluster="lab",'
            'resource="pods"}': "900x160"
        },
        {"cluster": "lab", "resource": "pods"},
        "The bot has received nothing about pods of cluster lab for 15m 0s.",
    ),
    "QuartermasterDatabaseDown": (
        {of("database_up"): "0x160"},
        {},
        "The database does not answer, so commands are refused.",
    ),
    "QuartermasterQuotaRaisedPastItsEnd": (
        {of("quota_override_overdue_seconds", **PLACE): "900x160"},
        PLACE,
        "A quota of team team-a on lab is still changed 15m 0s after its override ended.",
    ),
    "QuartermasterMessageOld": (
        {of("outbox_oldest_seconds"): "1200x160"},
        {},
        "A message has waited 20m 0s to be shown in Slack.",
    ),
    "QuartermasterApprovalsWait": (
        {of("approval_oldest_seconds", policy="quota_override"): "18000x160"},
        {"policy": "quota_override"},
        "A request (quota_override) has waited 5h 0m 0s for a decision.",
    ),
    "QuartermasterGpusIdle": (
        {of("gpus_idle", **PLACE): "4x160"},
        PLACE,
        "Team team-a has held 4 idle GPUs on lab for more than two hours.",
    ),
    "QuartermasterCachesFull": (
        {
            of("cache_used_bytes", cluster="lab", storage_class="standard"): "98x160",
            of("cache_limit_bytes", cluster="lab", storage_class="standard"): "100x160",
        },
        {"cluster": "lab", "storage_class": "standard"},
        "Storage class standard of lab is 98% full, so fills may have to wait.",
    ),
    "QuartermasterGpuSamplesMissing": (
        {of("gpu_missing_sample_minutes", cluster="lab"): "11x160"},
        {"cluster": "lab"},
        "GPU samples of cluster lab have gaps, so reports and digests are incomplete.",
    ),
    "QuartermasterAnswersLate": (
        {
            f'{LATENCY}{{namespace="quartermaster",le="{le}"}}': f"0+{more}x160"
            for le, more in (("1.0", 0), ("2.0", 0), ("3.0", 60), ("+Inf", 60))
        },
        {},
        "Slack waits 2.99s for acknowledgements, and gives up after 3 s.",
    ),
}


def rules(helm: Helm, values: Values = SETS["monitoring"]) -> list[dict[str, Any]]:
    (group,) = the(helm.objects(values), "PrometheusRule")["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_a_service_monitor_selects_the_ops_service(helm: Helm) -> None:
    objects = helm.objects(SETS["monitoring"])
    monitor = the(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"] == {**SELECTOR, "release": "prometheus"}
    service = the(objects, "Service", "quartermaster-ops")
    selected = monitor["spec"]["selector"]["matchLabels"]
    assert service["metadata"]["labels"] == selected
    assert monitor["spec"]["endpoints"] == [{"port": "ops", "path": "/metrics", "interval": "30s"}]
    assert [port["name"] for port in service["spec"]["ports"]] == ["ops"]


@pytest.mark.parametrize("name", FIRING)
def test_an_alert_fires_in_its_case_alone(helm: Helm, name: str, tmp_path: Path) -> None:
    seen, labels, summary = FIRING[name]
    known = {each["alert"]: each for each in rules(helm)}
    assert set(known) == set(FIRING)
    # All but the first case are of a bot whose metrics are there.
    running = {} if name == "QuartermasterDown" or OUTBOX in seen else {OUTBOX: "3x160"}
    annotations = known[name]["annotations"]
    fired = {
        "exp_labels": {**labels, **known[name]["labels"]},
        "exp_annotations": {**annotations, "summary": summary},
    }
    expected = {each: [fired] if each == name else [] for each in known}
    judge(list(known.values()), {**running, **seen}, expected, tmp_path)


def test_no_alert_fires_below_its_threshold(helm: Helm, tmp_path: Path) -> None:
    found = rules(helm)
    judge(found, WELL, {each["alert"]: [] for each in found}, tmp_path)


def judge(
    found: list[dict[str, Any]],
    series: Mapping[str, str],
    expected: Mapping[str, list[dict[str, Any]]],
    folder: Path,
) -> None:
    """Has promtool say whether exactly these alerts fire after 155 minutes."""
    story = {
        "interval": "1m",
        "input_series": [{"series": each, "values": told} for each, told in series.items()],
        "alert_rule_test": [
            {"alertname": name, "eval_time": "155m", "exp_alerts": alerts}
            for name, alerts in expected.items()
        ],
    }
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": found}]}))
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [story]}
    (folder / "test.yaml").write_text(yaml.safe_dump(document))
    command = [prometheus_program("promtool"), "test", "rules", str(folder / "test.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_its_runbook(helm: Helm) -> None:
    alerts = page_of_alerts(RUNBOOKS.read_text(encoding="utf-8"))
    known = {each["alert"]: each["annotations"]["runbook_url"] for each in rules(helm)}
    assert known == {name: f"docs/running.md#{name.lower()}" for name in alerts}
    elsewhere = {"monitoring": {"alerts": {"runbooks": "https://git.example.com/running.md"}}}
    (down, *_) = rules(helm, merged(SETS["monitoring"], elsewhere))
    url = "https://git.example.com/running.md#quartermasterdown"
    assert down["annotations"]["runbook_url"] == url


def page_of_alerts(page: str) -> list[str]:
    """The alerts with a section, each of which says what to do."""
    parts = re.split(r"^### (Quartermaster\w+)$", page, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert all(len(text.strip()) > 100 for text in sections.values())
    return list(sections)


def test_alerts_name_metrics_that_exist(helm: Helm) -> None:
    for each in rules(helm):
        named = set(re.findall(r"quartermaster_[a-z_]+", each["expr"]))
        assert named - series() == set()
        assert named
        assert set(each["annotations"]) == {"summary", "runbook", "runbook_url"}


def test_sockets_are_watched_only_where_they_are(helm: Helm) -> None:
    http = merged(SETS["monitoring"], config(slack={"transport": "http"}))
    alerts = [{each["alert"] for each in rules(helm, v)} for v in (SETS["monitoring"], http)]
    assert alerts[0] - alerts[1] == {"QuartermasterNotConnectedToSlack"}
