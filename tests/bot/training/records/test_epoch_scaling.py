"""Epoch times by number of nodes, compared with perfect scaling."""

from typing import Any

import pytest

from bot.charts.values import Bars, Series
from bot.errors import UserError
from bot.slack.text import as_text
from bot.training.records.epoch_scaling import epoch_comparison
from bot.training.tables import Run
from tests.bot.training.records.past import finished

EXAMPLE = "/train compare wide wide#2 --by epoch"
NEEDS = (
    "Its log needs a line such as `Epoch 3/10` for each epoch, and two or more epochs on the same"
    " number of nodes: the first one is not timed."
)


def timed(name: str, times: dict[str, list[float]], gpus: int = 8, **more: Any) -> Run:
    """A run with epochs of these times: how many by number of nodes, and their seconds."""
    return finished(name, gpus, epochs={"times": times} if times else {}, **more)


def refused(*runs: Run) -> tuple[str, str]:
    with pytest.raises(UserError) as error:
        epoch_comparison(runs, EXAMPLE)
    return error.value.message, error.value.hint


def test_one_run_that_changed_its_nodes_is_compared() -> None:
    wide = timed("wide", {"1": [2, 1800.0], "3": [4, 1280.0], "2": [3, 1440.0]})
    card = epoch_comparison([wide], EXAMPLE)
    assert as_text(card).splitlines() == [
        "Epoch times by number of nodes",
        (
            "  Epoch time by number of nodes, in seconds per epoch. 1 node: measured 900, ideal"
            " 900; 2 nodes: measured 480, ideal 450; 3 nodes: measured 320, ideal 300."
        ),
        "  Nodes  GPUs  Epoch    Ideal    Speed-up  Efficiency  Epochs  Runs",
        "  1      8     900.0 s  900.0 s  1.00x     100 %       2       wide",
        "  2      16    480.0 s  450.0 s  1.88x     94 %        3       wide",
        "  3      24    320.0 s  300.0 s  2.81x     94 %        4       wide",
        (
            "Ideal is perfect scaling from 1 node: half the time on twice the nodes. Speed-up and"
            " efficiency compare with the same. An epoch counts if it ran on the same number of"
            " nodes from beginning to end; the first one never does. The bot reads the log every"
            " 30 s at best, so the end of an epoch is known within 30 s."
        ),
    ]
    assert card.charts == (
        Bars(
            title="Epoch time by number of nodes",
            labels=("1 node", "2 nodes", "3 nodes"),
            series=(
                Series("measured", (900.0, 480.0, 320.0)),
                Series("ideal", (900.0, 450.0, 300.0)),
            ),
            unit="seconds per epoch",
        ),
    )


def test_runs_of_one_number_are_added_up() -> None:
    runs = [
        timed("two", {"2": [1, 500.0]}),
        timed("two", {"2": [3, 1300.0]}, number=2),
        timed("four", {"4": [10, 2500.0]}),
    ]
    table = epoch_comparison(runs, EXAMPLE).table
    assert table is not None
    assert table.rows == (
        ("2", "16", "450.0 s", "450.0 s", "1.00x", "100 %", "4", "two, two#2"),
        ("4", "32", "250.0 s", "225.0 s", "1.80x", "90 %", "10", "four"),
    )


def test_a_card_says_what_is_rough_or_missing() -> None:
    runs = [
        timed("one", {"1": [3, 180.0]}),
        timed("two", {"2": [10, 400.0]}),
        timed("mute", {}),
    ]
    assert as_text(epoch_comparison(runs, EXAMPLE)).splitlines()[1:3] == [
        "On 1 node only 180 s were timed: a rough figure.",
        f"`mute` has no epoch times. {NEEDS}",
    ]


def test_runs_without_epochs_say_what_to_print() -> None:
    assert refused(timed("mute", {})) == ("mute has no epoch times.", NEEDS)
    three = [timed(name, {}) for name in ("a", "b", "c")]
    assert refused(*three)[0] == "a, b and c have no epoch times."


def test_one_number_of_nodes_is_no_comparison() -> None:
    runs = [timed("wide", {"2": [2, 680.0]}), timed("wide", {"2": [1, 340.0]}, number=2)]
    assert refused(*runs) == (
        "Epochs were timed on 2 nodes only: 340.0 s each (3 of wide and wide#2).",
        (
            "Name a run on another number of nodes too, for example"
            " `/train compare wide wide#2 --by epoch`; an elastic run may change its own while it"
            " runs."
        ),
    )


def test_nodes_with_other_gpus_are_not_compared() -> None:
    runs = [
        timed("one", {"1": [2, 680.0]}, flavor="a100"),
        timed("two", {"2": [2, 340.0]}, flavor="h100"),
    ]
    assert refused(*runs) == (
        "A node of one has 8 a100 GPUs, a node of two 8 h100 GPUs.",
        (
            "Epochs are compared by nodes that have the same GPUs; without `--by epoch` runs are"
            " compared by their GPUs."
        ),
    )
