"""What watches the bot: the chart's ServiceMonitor, and its alerts in a real Prometheus."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from bot.serving import health
from bot.slack import metrics
from playground.settings import merged
from tests.deploy.features import SETS, Values, config
from tests.deploy.helm_program import Helm
from tests.deploy.rendering import the
from tests.deploy.test_chart_objects import SELECTOR
from tests.prometheus import prometheus_program

OUTBOX = 'quartermaster_outbox_messages{namespace="quartermaster"}'
LATENCY = "quartermaster_slack_acknowledge_seconds_bucket"
SPACE = {"namespace": "quartermaster"}
# What Prometheus has seen for half an hour, the labels that the alert then has, and what it says.
FIRING: Mapping[str, tuple[Mapping[str, str], Mapping[str, str], str]] = {
    "QuartermasterDown": ({}, SPACE, "Prometheus has no metrics of Quartermaster."),
    "QuartermasterNotConnectedToSlack": (
        {'quartermaster_slack_sockets{namespace="quartermaster"}': "0x40"},
        {},
        "No connection to Slack works, so commands are not received.",
    ),
    "QuartermasterBehind": (
        {'quartermaster_due_lag_seconds{namespace="quartermaster",kind="run"}': "400x40"},
        {},
        "Work is overdue for 6m 40s.",
    ),
    "QuartermasterMessagesWait": (
        {OUTBOX: "150x40"},
        SPACE,
        "Slack does not show the current state of 150 messages.",
    ),
    "QuartermasterClusterViewStale": (
        {
            'quartermaster_watch_age_seconds{namespace="quartermaster",cluster="lab",'
            'resource="pods"}': "900x40"
        },
        {"cluster": "lab", "resource": "pods"},
        "The bot has received nothing about pods of cluster lab for 15m 0s.",
    ),
    "QuartermasterAnswersLate": (
        {
            f'{LATENCY}{{namespace="quartermaster",le="{le}"}}': f"0+{more}x40"
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
    running = {} if name == "QuartermasterDown" or OUTBOX in seen else {OUTBOX: "3x40"}
    runbook = known[name]["annotations"]["runbook"]
    fired = {
        "exp_labels": {**labels, **known[name]["labels"]},
        "exp_annotations": {"summary": summary, "runbook": runbook},
    }
    cases = [
        {"alertname": each, "eval_time": "35m", "exp_alerts": [fired] if each == name else []}
        for each in known
    ]
    series = [{"series": each, "values": told} for each, told in {**running, **seen}.items()]
    story = {"interval": "1m", "input_series": series, "alert_rule_test": cases}
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "g", "rules": [*known.values()]}]})
    )
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [story]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))
    command = [prometheus_program("promtool"), "test", "rules", str(tmp_path / "test.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_name_metrics_that_exist(helm: Helm) -> None:
    made = [each for module in (health, metrics) for each in vars(module).values()]
    counted = [each for each in made if isinstance(each, MetricWrapperBase)]
    known = {described.name for each in counted for described in each.describe()}
    for each in rules(helm):
        named = set(re.findall(r"quartermaster_[a-z_]+", each["expr"]))
        assert {name.removesuffix("_bucket") for name in named} - known == set()
        assert named
        assert set(each["annotations"]) == {"summary", "runbook"}


def test_sockets_are_watched_only_where_they_are(helm: Helm) -> None:
    http = merged(SETS["monitoring"], config(slack={"transport": "http"}))
    alerts = [{each["alert"] for each in rules(helm, v)} for v in (SETS["monitoring"], http)]
    assert alerts[0] - alerts[1] == {"QuartermasterNotConnectedToSlack"}
