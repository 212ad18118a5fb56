"""The data of the fairness story beside the file it was taken from, where that is at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from playground.story import fairness
from playground.story.fairness import STAGES, Stage

FILE = Path(__file__).parents[4] / "shared" / "references" / "fairness.json"
needs_file = pytest.mark.skipif(not FILE.exists(), reason="fairness.json is not here")


def the_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def submitted(stage: dict[str, Any]) -> list[tuple[str, str, float, bool, str]]:
    return [
        (each["name"], each["project"], each["gpus"], each["kind"] == "interactive", each["image"])
        for each in stage["steps"]
        if each["op"] == "submit"
    ]


def ours(stage: Stage) -> list[tuple[str, str, float, bool, str]]:
    return [
        (each.name, each.team, float(each.gpus), each.interactive, each.image)
        for each in stage.submits
    ]


@needs_file
def test_stages_submit_and_stop_what_the_file_says() -> None:
    found = the_file()["stages"]
    assert [each["id"] for each in found] == [stage.section for stage in STAGES]
    assert [submitted(each) for each in found] == [ours(stage) for stage in STAGES]
    stopped = [each["names"] for each in found[-1]["steps"]]
    assert stopped == [list(STAGES[-1].stops)]


@needs_file
def test_stages_expect_what_the_file_says() -> None:
    for stage, found in zip(STAGES, the_file()["stages"], strict=True):
        expected = found["expect"]
        assert expected["allocated"] == dict(stage.allocated)
        assert expected["published"] == dict(stage.published)
        assert expected.get("pending", []) == list(stage.waits)
        assert [sorted(pair) for pair in expected.get("running_one_of", [])] == [
            sorted(pair) for pair in stage.either
        ]


@needs_file
def test_queues_are_those_of_the_file() -> None:
    mapping = the_file()["engine_mapping"]["kueue"]
    assert [fairness.cluster_queue(team) for team in fairness.QUOTAS] == mapping["clusterqueues"]
    assert mapping["config"].items() <= fairness.CONFIGURATION.items()
    nodes = {node["name"]: node["gpus"] for node in the_file()["cluster"]["nodes"]}
    assert nodes == fairness.NODES


def told(stage: Stage, team: str) -> str:
    used, quota = stage.allocated[team], fairness.QUOTAS[team]
    waits = fairness.waiting_gpus(stage, team)
    borrowed = f", {used - quota} borrowed" if used > quota else ""
    queued = f", {len(waits)} waiting ({sum(waits)} GPUs)" if waits else ""
    return f"{used}/{quota}{borrowed}{queued}"


def test_page_shows_the_stages_beside_the_guide() -> None:
    rows = [
        f"| {stage.section} | {team} | {stage.published[team]} | {told(stage, team)} |"
        for stage in STAGES
        for team in fairness.QUOTAS
    ]
    page = (Path(__file__).parents[3] / "docs" / "quotas.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("| 4.")]
    assert shown == rows
