"""Runs on a Home tab link to other tools, as their cards do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.command_client import ALICE, TEAM_A, CommandClient, opened
from tests.handlers.home_pages import section_of, tab_of, view_of
from tests.handlers.test_home import run_begins, run_ends, timeless
from tests.playground.cluster.served import Served

LINKS = """\
training:
  links:
    - {label: W&B, in_log: "https://wandb.ai/*/*/runs/*"}
    - {label: Commit, url: "https://github.com/{repository}/commit/{commit}"}
    - {label: Grafana, url: "https://grafana.example.com/d/gpu?from={started}&var-pod={pods}"}
"""
SUBMIT = (
    "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --code acme/lane@3f2a9c1"
    " -- python train.py"
)
RECORD = "https://wandb.ai/acme/lane/runs/x7q"


@pytest.fixture
def client(tmp_path: Path, database_url: str, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, database_url, served, LINKS) as opened_client:
        yield opened_client


def lines_with_links(client: CommandClient) -> list[str]:
    """The lines of Alice's tab that hold links, as Slack gets them."""
    texts = (block.get("text", {}).get("text", "") for block in view_of(client, ALICE)["blocks"])
    return [line for text in texts for line in text.splitlines() if "<https" in line]


def test_live_runs_link_to_other_tools(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, links={"W&B": RECORD})
    assert timeless(section_of(client, ALICE, "Your runs (1)")) == [
        "▶️ lane · Running since TIME · 2 GPUs",
        "Open in W&B · Commit · Grafana",
        "[Logs] [Stop]",
    ]
    (line,) = lines_with_links(client)
    record, commit, grafana = line.removeprefix("Open in ").split(" · ")
    assert record == f"<{RECORD}|W&amp;B>"
    assert commit == "<https://github.com/acme/lane/commit/3f2a9c1|Commit>"
    assert grafana.startswith("<https://grafana.example.com/d/gpu?from=")
    assert "&amp;var-pod=lane-" in grafana


def test_ended_runs_keep_their_links(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, links={"W&B": RECORD})
    (before,) = lines_with_links(client)
    run_ends(client)
    assert timeless(section_of(client, ALICE, "Ended lately")) == [
        "✅ lane · Succeeded in 2h, TIME",
        "Open in W&B · Commit · Grafana",
        "[Resubmit] [Logs]",
    ]
    assert lines_with_links(client) == [before]


def test_an_address_found_later_changes_the_tab(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client)
    home, tab = client.application.home(), tab_of(ALICE)
    before = home.digests([tab])[ALICE]
    assert home.prepare(tab).digest == before
    run_begins(client, links={"W&B": RECORD})
    after = home.digests([tab])[ALICE]
    assert after != before
    assert home.prepare(tab).digest == after


def test_links_need_no_blocks_of_their_own(client: CommandClient, tmp_path: Path) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, links={"W&B": RECORD})
    with_links = view_of(client, ALICE)["blocks"]
    path = tmp_path / "quartermaster.yaml"
    path.write_text(path.read_text().replace(LINKS, ""))
    client.application.settings.refresh()
    without = view_of(client, ALICE)["blocks"]
    assert [each["type"] for each in with_links] == [each["type"] for each in without]
    assert "Open in" not in json.dumps(without)


def test_addresses_of_hosts_no_longer_allowed_vanish(client: CommandClient, tmp_path: Path) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, links={"W&B": RECORD})
    path = tmp_path / "quartermaster.yaml"
    path.write_text(path.read_text().replace("https://wandb.ai/", "https://wandb.example.com/"))
    client.application.settings.refresh()
    assert section_of(client, ALICE, "Your runs (1)")[1] == "Open in Commit · Grafana"
