"""Runs side by side."""

from datetime import timedelta
from typing import Any

import pytest

from bot.config import Prices
from bot.errors import UsageError
from bot.slack.card import Card
from bot.training.records.comparing import Side, comparison, refuse_few
from bot.training.tables import RunPhase
from tests.bot.training.objects import later
from tests.bot.training.records.past import NOW, finished, took


def table(card: Card) -> list[tuple[str, ...]]:
    """The cells of a card's table."""
    assert card.table is not None
    return [card.table.header, *card.table.rows]


def test_three_gpus_are_set_beside_one() -> None:
    one = Side(
        finished("one", 1, results={"images/sec": "270.8", "total images/sec": "812.4"}),
        took(timedelta(hours=12, minutes=45), "12.75"),
    )
    three = Side(finished("three", 3), took(timedelta(hours=4, minutes=30), "13.5"))
    card = comparison([one, three], Prices(), NOW)
    assert card.title == "one and three side by side"
    assert table(card) == [
        (
            "Run", "State", "GPUs", "Ran", "Speed-up", "Efficiency", "Throughput", "GPU-hours",
        ),
        (
            "one", "Succeeded", "1", "12h 45m", "1.00x", "100 %", "812.4 total images/sec",
            "12.75",
        ),
        ("three", "Succeeded", "3", "4h 30m", "2.83x", "94 %", "unknown", "13.50"),
    ]  # fmt: skip


def rated(name: str, gpus: int, rate: str, **more: Any) -> Side:
    """A run that took five minutes, with its throughput."""
    row = finished(name, gpus, results={"total images/sec": rate}, **more)
    return Side(row, took(timedelta(minutes=5), str(gpus / 12)))


def lines(*sides: Side) -> tuple[str, ...]:
    """What the comparison says beside its table."""
    return tuple(comparison(sides, Prices(), NOW).lines)


def test_four_small_runs_are_set_against_one() -> None:
    ones = [
        rated("one", 8, rate, number=number)
        for number, rate in enumerate(("6500.25", "6502.5", "6,497.75", "6499.5"), 1)
    ]
    assert lines(*ones, rated("four", 32, "24700")) == (
        (
            "`four` reaches 24,700.00 total images/sec on 32 GPUs, 95.0 % of 26,000.00,"
            " `one`, `one#2`, `one#3` and `one#4` together (8 GPUs each)."
        ),
    )


def test_one_small_run_is_scaled_to_the_larger() -> None:
    two = rated("two", 16, "12881.33875")
    assert lines(two, rated("one", 8, "6500")) == (
        (
            "`two` reaches 12,881.34 total images/sec on 16 GPUs, 99.1 % of 13,000.00, `one` (8"
            " GPUs) scaled to as many."
        ),
    )


@pytest.mark.parametrize(
    "other",
    [
        rated("other", 8, "6400"),
        rated("other", 16, "nan"),
        rated("other", 16, "12881", flavor="h100"),
        rated("other", 16, "12881", phase=RunPhase.FAILED),
        Side(finished("other", 16, results={"images/sec": "812"}), took(timedelta(hours=1), "16")),
    ],
)
def test_no_share_is_told_of_what_differs(other: Side) -> None:
    assert lines(rated("one", 8, "6500", flavor="a100"), other) == ()


def test_costs_are_told_where_prices_are_set() -> None:
    prices = Prices.model_validate({"currency": "EUR", "per_gpu_hour": {"h100": "2.5"}})
    known = Side(finished("a", 1, flavor="h100"), took(timedelta(hours=1000), "1000"))
    other = Side(finished("b", 1, flavor="a100"), took(timedelta(hours=1), "1"))
    rows = table(comparison([known, other], prices, NOW))
    assert [row[-1] for row in rows] == ["Cost", "2,500.00 EUR", "unknown"]


def test_a_run_that_has_no_figures_is_unknown() -> None:
    done = Side(finished("done", 2), took(timedelta(hours=1), "2"))
    live = Side(
        finished("live", 2, phase=RunPhase.RUNNING, since=later(), ended_at=None),
        took(timedelta(hours=24), "48"),
    )
    failed = Side(finished("failed", 2, phase=RunPhase.FAILED), took(timedelta(minutes=5), "0.17"))
    plain = Side(finished("plain", 0), took(timedelta(minutes=30), "0"))
    rows = table(comparison([done, live, failed, plain], Prices(), NOW))
    assert rows[2:] == [
        ("live", "Running for 1d", "2", "unknown", "unknown", "unknown", "unknown", "unknown"),
        ("failed", "Failed", "2", "5m", "unknown", "unknown", "unknown", "0.17"),
        ("plain", "Succeeded", "0", "30m", "2.00x", "unknown", "unknown", "0.00"),
    ]


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (1, "A comparison needs at least two runs."),
        (11, "11 runs are too many for one table."),
    ],
)
def test_too_few_and_too_many_are_refused(count: int, message: str) -> None:
    runs = [finished("lane", 1, number=number) for number in range(1, count + 1)]
    with pytest.raises(UsageError) as refused:
        refuse_few(runs, "/train compare lane lane#2")
    assert refused.value.message == message


def test_a_run_is_not_compared_with_itself() -> None:
    with pytest.raises(UsageError) as refused:
        refuse_few([finished("lane", 1), finished("lane", 1)], "/train compare lane lane#2")
    assert (refused.value.message, refused.value.hint) == (
        "lane is named twice.",
        "Name two or more runs, for example `/train compare lane lane#2`.",
    )
