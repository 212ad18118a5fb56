"""What a benchmark prints and how it ends; what it measures is not tested."""

import json
import os
import time

import click
from click.testing import CliRunner, Result

from benchmarks.rig.figures import Aim, Report, command, percentile
from benchmarks.rig.processor import cpu_seconds


def told(*options: str) -> Result:
    """The outcome of a benchmark that met one aim and missed another."""

    async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
        aims = [Aim("times bare", 2.5, 3), Aim("later than 3 s", 1, 0)]
        return Report({"bot": {"p50_ms": 1.0 if quick else 2.0}}, aims)

    return CliRunner().invoke(command("ack", "A benchmark.", measure), options)


def test_json_is_one_line_with_figures_and_aims() -> None:
    result = told("--quick", "--json")
    assert result.exit_code == 0
    [line] = result.stdout.splitlines()
    said = json.loads(line)
    assert set(said) == {
        "benchmark", "quick", "date", "machine", "load", "figures", "aims", "missed",
    }  # fmt: skip
    assert said["figures"] == {"bot": {"p50_ms": 1.0}}
    assert said["aims"]["times bare"] == {"value": 2.5, "most": 3}
    assert said["missed"] == ["later than 3 s"]


def test_check_fails_and_names_the_missed_aim() -> None:
    result = told("--check")
    assert result.exit_code == 1
    assert result.stderr == "MISSED later than 3 s: 1.00, at most 0\n"
    assert told().exit_code == 0


def test_further_options_reach_the_measurement() -> None:
    async def measure(quick: bool, database: str) -> Report:  # noqa: FBT001  # the rig calls it so
        return Report({database: {"p50_ms": 1.0 if quick else 2.0}}, [])

    option = click.Option(["--database"], default="sqlite")
    run = command("ack", "A benchmark.", measure, [option])
    said = json.loads(CliRunner().invoke(run, ["--json", "--database", "postgresql"]).stdout)
    assert said["database"] == "postgresql"
    assert said["figures"] == {"postgresql": {"p50_ms": 2.0}}


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 50), percentile(values, 99)) == (50.0, 99.0)
    assert percentile([7.0], 99) == 7.0


def test_processor_time_is_that_of_the_process() -> None:
    before = time.process_time()
    seconds = cpu_seconds(os.getpid())
    assert before <= seconds <= time.process_time()
