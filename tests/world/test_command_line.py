"""The playground's command line: what it lists and refuses, and that no bot stays behind."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from playground.__main__ import main

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60


def said(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), prog_name="playground")


def test_list_names_stories_with_their_first_lines() -> None:
    lines = said("--list").output.splitlines()
    assert (
        "first-run                  "
        "Alice trains, is helped with a typo, requests more GPUs, and gets them for three days."
    ) in lines
    assert all(len(line.split()) > 3 for line in lines)


def test_unknown_scenario_is_refused_with_suggestion() -> None:
    result = said("--headless", "--scenario", "frist-run")
    assert result.exit_code == 2
    assert "there is no scenario frist-run; did you mean first-run?" in result.output


def test_headless_without_scenario_is_refused() -> None:
    result = said("--headless")
    assert (result.exit_code, result.output.splitlines()[-1]) == (
        2,
        "Error: --headless needs a --scenario; --list names them.",
    )


def test_options_of_the_page_need_the_page() -> None:
    result = said("--headless", "--scenario", "first-run", "--agent-view")
    assert (result.exit_code, result.output.splitlines()[-1]) == (
        2,
        "Error: --agent-view is for the page: omit --headless.",
    )


@pytest.mark.slow
def test_story_says_where_its_channels_are(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "playground", "--headless", "--scenario", "a-failing-run"]
    told = subprocess.run(
        [*command, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    page = tmp_path / "channels.html"
    assert told.stdout.splitlines()[-1] == f"The channels as an HTML page: {page}"
    assert "<title>Quartermaster in Slack</title>" in page.read_text("utf-8")


@pytest.mark.slow
def test_killed_playground_leaves_no_bot_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "playground", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as playground:
        assert playground.stdout is not None
        next(line for line in playground.stdout if line.startswith("Ctrl-C"))
        bots = children_of(playground.pid)
        assert bots
        playground.kill()
    for bot in bots:
        gone = os.pidfd_open(bot) if Path(f"/proc/{bot}").exists() else None
        if gone is not None:
            assert wait_readable(gone)
            os.close(gone)


@pytest.mark.slow
def test_terminated_playground_ends_bot_and_exits_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "playground", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as playground:
        assert playground.stdout is not None
        next(line for line in playground.stdout if line.startswith("Ctrl-C"))
        bots = children_of(playground.pid)
        playground.send_signal(signal.SIGTERM)
        assert playground.wait(PATIENCE_SECONDS) == 0
    assert not [bot for bot in bots if Path(f"/proc/{bot}").exists()]


def children_of(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [int(child) for child in told.split()]


def wait_readable(handle: int) -> bool:
    """Whether a process ended in time."""
    return bool(select.select([handle], [], [], PATIENCE_SECONDS)[0])
