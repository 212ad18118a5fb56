"""The values of cells, how they get into commands, and which result is the best."""

from decimal import Decimal

import pytest

from bot.slack.grammar.container_parameters import EnvironmentVariable, SweptValues
from bot.training.sweeps.cells import Cell, measured
from bot.training.sweeps.grid import count_of, filled, filled_env, values_of
from tests.states.sweeps import cell, sweep

GRID = tuple(map(SweptValues().read, ("lr=0.1, 0.01", "bs=32,64,128")))


def test_values_of_the_last_change_first() -> None:
    cells = [tuple(values_of(GRID, number + 1).values()) for number in range(count_of(GRID))]
    assert cells == [
        ("0.1", "32"),
        ("0.1", "64"),
        ("0.1", "128"),
        ("0.01", "32"),
        ("0.01", "64"),
        ("0.01", "128"),
    ]


def test_only_placeholders_of_parameters_are_filled() -> None:
    values = {"lr": "{bs}", "bs": "32"}
    assert filled('{"a": {lr}, {x} {} ${HOME} {bs}}', values) == '{"a": {bs}, {x} {} ${HOME} 32}'


def test_a_variable_of_their_own_is_kept() -> None:
    given = (EnvironmentVariable("SWEEP_LR", "-{lr}"), EnvironmentVariable("BS", "{bs}"))
    assert filled_env(given, {"lr": "0.1", "bs": "32"}) == (
        EnvironmentVariable("SWEEP_LR", "-0.1"),
        EnvironmentVariable("BS", "32"),
        EnvironmentVariable("SWEEP_BS", "32"),
    )


@pytest.mark.parametrize("text", ["lr", "lr=", "lr=1,,2", "1r=1,2", "l-r=1", f"lr={'1' * 101}"])
def test_other_words_are_no_parameter(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        SweptValues().read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.914", Decimal("0.914")),
        ("91.4%", Decimal("91.4")),
        ("1,412.5", Decimal("1412.5")),
        ("190.20 GB/s", Decimal("190.20")),
        ("3e-4", Decimal("0.0003")),
        ("nan", None),
        ("inf", None),
        ("socket", None),
        ("", None),
    ],
)
def test_a_result_is_read_as_number(text: str, value: Decimal | None) -> None:
    run = cell(1, results={"accuracy": text})
    assert measured(sweep(), Cell(1, {"lr": "0.1"}, run)) == value
