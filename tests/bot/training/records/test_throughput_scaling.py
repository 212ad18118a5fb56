"""Throughput by number of nodes, compared with perfect scaling."""

from datetime import timedelta
from typing import Any

import pytest

from bot.charts.values import Bars, Series
from bot.errors import UserError
from bot.slack.text import as_text
from bot.training.records.comparing import Side
from bot.training.records.throughput_scaling import throughput_comparison
from bot.training.tables import RunPhase
from tests.bot.training.objects import later
from tests.bot.training.records.past import finished, took

EXAMPLE = "/train compare one one#2 two --by nodes"
TOTAL = "total images/sec"
PRINT = "It comes from the log of a run that succeeded: `Total images/sec = 12881.33875`."


def rated(name: str, nodes: int, rate: str, unit: str = TOTAL, **more: Any) -> Side:
    """A run on so many nodes of eight GPUs, with its throughput."""
    row = finished(name, 8, results={unit: rate} if rate else {}, **more)
    row.spec = {**row.spec, "kind": "sync", "nodes": nodes}
    return Side(row, took(timedelta(minutes=5)))


ONES = tuple(
    rated("one", 1, rate, number=number)
    for number, rate in enumerate(("6500.25", "6502.5", "6,497.75", "6499.5"), 1)
)


def refused(*sides: Side) -> tuple[str, str]:
    with pytest.raises(UserError) as error:
        throughput_comparison(sides, EXAMPLE)
    return error.value.message, error.value.hint


def test_four_jobs_are_set_against_one() -> None:
    card = throughput_comparison([*ONES, rated("four", 4, "24700")], EXAMPLE)
    assert as_text(card).splitlines() == [
        "Throughput by number of nodes",
        (
            "`four` reaches 24,700.00 total images/sec on 32 GPUs, 95.0 % of 26,000.00, `one`,"
            " `one#2`, `one#3` and `one#4` together (8 GPUs each)."
        ),
        (
            "  Throughput by number of nodes, in total images/sec. 1 node: measured 6,500, ideal"
            " 6,500; 4 nodes: measured 24,700, ideal 26,000."
        ),
        "  Nodes  GPUs  Throughput  Per node  Ideal      Of ideal  Runs",
        "  1      8     6,500.00    6,500.00  6,500.00   100.0 %   one, one#2, one#3, one#4",
        "  4      32    24,700.00   6,175.00  26,000.00  95.0 %    four",
        (
            "Throughput is total images/sec of a run, as its log reports it. Of several runs it is"
            " their mean. Ideal is perfect scaling from 1 node: twice the throughput on twice the"
            " nodes."
        ),
    ]
    assert card.charts == (
        Bars(
            title="Throughput by number of nodes",
            labels=("1 node", "4 nodes"),
            series=(Series("measured", (6500.0, 24700.0)), Series("ideal", (6500.0, 26000.0))),
            unit=TOTAL,
        ),
    )


def test_runs_that_tell_nothing_are_left_out() -> None:
    live = rated("live", 2, "12000", phase=RunPhase.RUNNING, since=later(), ended_at=None)
    failed = rated("failed", 2, "12000", phase=RunPhase.FAILED)
    elastic = rated("wide", 2, "12000")
    elastic.run.spec |= {"kind": "elastic", "nodes_range": [1, 2]}
    sides = [ONES[0], rated("two", 2, "12881.33875"), live, failed, elastic, rated("mute", 2, "")]
    card = throughput_comparison(sides, EXAMPLE)
    assert card.table is not None
    assert card.table.rows == (
        ("1", "8", "6,500.25", "6,500.25", "6,500.25", "100.0 %", "one"),
        ("2", "16", "12,881.34", "6,440.67", "13,000.50", "99.1 %", "two"),
    )
    assert tuple(card.lines)[1:] == (
        "`live` is left out: it has not ended yet.",
        "`failed` is left out: it has not succeeded.",
        (
            "`wide` is left out: it may change its nodes while it runs; `--by epoch` compares such"
            " runs."
        ),
        "`mute` is left out: it has none in its log.",
    )


def test_the_figure_of_one_process_is_doubted() -> None:
    sides = [rated(f"on-{nodes}", nodes, "812.4", "images/sec") for nodes in (1, 2)]
    assert tuple(throughput_comparison(sides, EXAMPLE).lines)[1:] == (
        (
            "If images/sec in these logs is the figure of one process, it does not show how runs"
            " scale. Have the program print the total of all processes."
        ),
    )


def test_what_scales_too_well_is_doubted() -> None:
    sides = [rated("one", 1, "812.4"), rated("two", 2, "9748.8")]
    assert tuple(throughput_comparison(sides, EXAMPLE).lines)[1:] == (
        (
            "Runs rarely reach more than 120 % of ideal. Check that the logs report the same"
            " figure: one may count a single process, another all of them."
        ),
    )


def test_no_throughput_of_zero_is_divided() -> None:
    sides = [rated(f"on-{nodes}", nodes, "0") for nodes in (1, 2)]
    table = throughput_comparison(sides, EXAMPLE).table
    assert table is not None
    assert [row[5] for row in table.rows] == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (
            (rated("mute", 1, ""), rated("two", 2, "")),
            ("No run has a throughput to compare: mute has none in its log.", PRINT),
        ),
        (
            ONES[:2],
            (
                "Throughput is known on 1 node only: 6,501.38 total images/sec (one and one#2).",
                f"Name a run on another number of nodes too, for example `{EXAMPLE}`.",
            ),
        ),
        (
            (rated("one", 1, "6500", flavor="a100"), rated("two", 2, "12000", flavor="h100")),
            (
                "A node of one has 8 a100 GPUs, a node of two 8 h100 GPUs.",
                (
                    "Throughput is compared by nodes that have the same GPUs; without `--by nodes`"
                    " runs are compared by their GPUs."
                ),
            ),
        ),
        (
            (rated("one", 1, "812", "images/sec"), rated("two", 2, "12000")),
            (
                "The log of one reports images/sec, that of two total images/sec.",
                "Name runs that report the same figure.",
            ),
        ),
    ],
)
def test_what_cannot_be_compared_is_said(sides: tuple[Side, ...], said: tuple[str, str]) -> None:
    assert refused(*sides) == said
