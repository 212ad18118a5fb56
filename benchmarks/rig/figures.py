"""What every benchmark says: figures, ratios, and which aim was missed."""

import asyncio
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import click
from typing_extensions import override

_PERCENT = 100


@dataclass(frozen=True)
class Aim:
    """Something that is to be at most so much."""

    name: str
    value: float
    most: float

    @property
    def is_met(self) -> bool:
        """Whether it is."""
        return self.value <= self.most

    @override
    def __str__(self) -> str:
        word = "met" if self.is_met else "MISSED"
        return f"{word:<7}{self.name}: {self.value:.2f}, at most {self.most:g}"


@dataclass(frozen=True)
class Report:
    """What was measured; units are in the names of the figures."""

    figures: Mapping[str, Mapping[str, float]]
    aims: Sequence[Aim]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-round(len(ordered) * percent) // _PERCENT) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return statistics.median(values)


Measure = Callable[..., Coroutine[None, None, Report]]


def command(
    name: str, summary: str, measure: Measure, options: Sequence[click.Option] = ()
) -> click.Command:
    """A command line round a measurement, which is told whether it has to be quick.

    It is told the values of further `options` by their names.
    """

    @click.command(name, help=summary)
    @click.option("--quick", is_flag=True, help="Measure smaller sizes, for a quick result.")
    @click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
    @click.option("--check", is_flag=True, help="Exit 1 and name the aim if one is missed.")
    def run(*, quick: bool, as_json: bool, check: bool, **chosen: str) -> None:
        before = _load()
        report = asyncio.run(measure(quick, **chosen))
        if as_json:
            head = {"benchmark": name, "quick": quick, **chosen}
            print(json.dumps({**head, **_told(report, before)}))
        else:
            print(_table(report, before))
        missed = [aim for aim in report.aims if not aim.is_met]
        if check and missed:
            for aim in missed:
                print(aim, file=sys.stderr)
            sys.exit(1)

    run.params += options
    return run


def _told(report: Report, load_before: float) -> dict[str, object]:
    return {
        "date": _today(),
        "machine": _machine(),
        "load": [load_before, _load()],
        "figures": {
            name: {key: round(value, 3) for key, value in row.items()}
            for name, row in report.figures.items()
        },
        "aims": {aim.name: {"value": round(aim.value, 3), "most": aim.most} for aim in report.aims},
        "missed": [aim.name for aim in report.aims if not aim.is_met],
    }


def _table(report: Report, load_before: float) -> str:
    lines = [f"{_today()}, {_machine()}, load {load_before:g} before and {_load():g} after"]
    width = max(len(name) for name in report.figures)
    for name, row in report.figures.items():
        cells = "  ".join(f"{key} {value:.2f}" for key, value in row.items())
        lines.append(f"{name:<{width}}  {cells}")
    return "\n".join([*lines, *(str(aim) for aim in report.aims)])


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _load() -> float:
    return round(os.getloadavg()[0], 2)
