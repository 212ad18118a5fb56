"""The Grafana board: its form, its ConfigMap, and its queries in a real Prometheus."""

import json
import re
from itertools import pairwise
from pathlib import Path

from bot.serving.http import Pages, Server, application
from playground.loopback import reserved_port
from tests.bot.serving.busy import busy
from tests.bot.serving.known_metrics import series
from tests.deploy.board import BOARD, Asked, board, panels, queries
from tests.deploy.features import SETS
from tests.deploy.helm_program import Helm
from tests.deploy.rendering import the
from tests.handlers.conftest import runner, served
from tests.playground.cluster.served import Served
from tests.prometheus import Scraped, prometheus

__all__ = ["runner", "served"]

WIDTH = 24
# Counted as things happen in Slack and in clusters, which this bot does not do.
COUNTED = {"Commands and clicks", "Time to acknowledge", "Calls of Slack", "Age of watches"}


def test_the_board_has_the_form_of_grafana() -> None:
    found = board()
    assert (found["uid"], found["title"], found["schemaVersion"]) == (
        "quartermaster", "Quartermaster", 39,
    )  # fmt: skip
    ids = [each["id"] for each in found["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert panel["type"] in {"stat", "timeseries"}
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["description"].endswith(".")
        refs = [each["refId"] for each in panel["targets"]]
        assert refs == sorted(set(refs))
        assert refs
        labels = [set(re.findall(r"{{(\w+)}}", each["legendFormat"])) for each in panel["targets"]]
        told = [set(re.findall(r"by \(([\w, ]+)\)", each["expr"])) for each in panel["targets"]]
        for named, by in zip(labels, told, strict=True):
            assert named <= {each for group in by for each in group.split(", ")}


def test_panels_stand_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    rows = sorted({y for _, y in taken})
    assert all(below - above == 1 for above, below in pairwise(rows))


def test_the_board_names_metrics_that_exist() -> None:
    named = set(re.findall(r"quartermaster_[a-z_]+", BOARD.read_text(encoding="utf-8")))
    assert named - series() == set()
    # What is left out is counted for when something is looked into.
    left_out = {each for each in series() - named if not each.startswith("quartermaster_slack")}
    assert left_out == {
        "quartermaster_due_late_rows",
        "quartermaster_gpus_measured",
        "quartermaster_gpus_schedulable",
        "quartermaster_home_published_total",
        "quartermaster_home_tabs",
    }


def test_runbooks_of_panels_are_alerts(helm: Helm) -> None:
    (group,) = the(helm.objects(SETS["monitoring"]), "PrometheusRule")["spec"]["groups"]
    alerts = {each["alert"] for each in group["rules"]}
    text = " ".join(panel["description"] for panel in panels())
    assert set(re.findall(r"Runbook: (\w+)", text)) <= alerts


def test_a_config_map_holds_the_board(helm: Helm) -> None:
    found = the(helm.objects(SETS["monitoring"]), "ConfigMap", "quartermaster-board")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["annotations"] == {"grafana_folder": "ML"}
    assert json.loads(found["data"]["quartermaster.json"]) == board()
    without = [each["metadata"]["name"] for each in helm.objects(SETS["minimal"])]
    assert "quartermaster-board" not in without


def test_prometheus_answers_every_query(served: Served, tmp_path: Path) -> None:
    with (
        busy(tmp_path, f"sqlite:///{tmp_path}/bot.db", served) as (_, metrics),
        reserved_port() as port,
    ):
        address = f"127.0.0.1:{port}"
        server = Server(application(Pages(ready={}, metrics=metrics.text)), address)
        server.start()
        try:
            with prometheus(
                tmp_path, Scraped(), exporter=address, labels="namespace: quartermaster"
            ) as url:
                asked = Asked(url)
                asked.until_scraped(2)
                assert asked.empty() <= COUNTED
                quota = next(query for title, query in queries() if title == "Quota in use")
                (value,) = asked.answer(quota)
                assert value["metric"] == {"cluster": "default", "team": "team-a"}
                assert float(value["value"][1]) == 1.5
        finally:
            server.stop()
