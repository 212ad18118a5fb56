"""What people read of the pairs of nodes that a network test measured."""

from decimal import Decimal
from itertools import combinations

from bot.config import NetworkReference
from bot.training.logs.pairs import PairSpeeds
from bot.training.pairs import Pair, plan
from bot.training.records.pairs import pairs_cost, slow_words, with_pairs

FAST = Decimal("41.70")
NAMES = {number: f"gpu-{number + 1}" for number in range(8)}
REFERENCE = NetworkReference(type="h100", maximum=Decimal("42.00"))


def figures(nodes: int, slow: dict[Pair, str], alone: dict[Pair, str] | None = None) -> str:
    """The results of a test with these slow pairs, as `/gpu network` shows them."""
    speeds = dict.fromkeys(combinations(range(nodes), 2), FAST)
    speeds |= {pair: Decimal(speed) for pair, speed in slow.items()}
    again = {pair: Decimal(speed) for pair, speed in (alone or slow).items()}
    measured = PairSpeeds(plan(nodes).pairs, speeds, again)
    return slow_words(with_pairs({}, measured, NAMES, REFERENCE))


def test_the_slowest_pairs_come_first() -> None:
    assert figures(8, {(0, 1): "20", (2, 3): "0", (4, 5): "4.20"}) == (
        "slow pairs gpu-3 and gpu-4: no result; gpu-5 and gpu-6: 4.20 GB/s (10 % of the"
        " reference); gpu-1 and gpu-2: 20.00 GB/s (48 % of the reference)"
    )


def test_many_slow_pairs_are_counted() -> None:
    slow = {(0, 1): "1", (0, 2): "1", (1, 3): "1", (2, 3): "1", (4, 5): "2", (5, 6): "3"}
    assert figures(8, slow).endswith(
        "gpu-3 and gpu-4: 1.00 GB/s (2 % of the reference); and 2 more"
    )


def test_a_node_without_any_result_is_slow() -> None:
    slow = {(0, 1): "0", (1, 2): "0", (1, 3): "0"}
    assert figures(4, slow) == "slow nodes gpu-2: no result"


def test_pairs_slow_only_at_once_are_counted() -> None:
    across = {(one, other): "10" for one in range(4) for other in range(4, 8)}
    alone = {(0, other): "41" for other in range(4, 8)}
    assert figures(8, across, alone) == (
        "pairs: 28 measured, the fastest 41.70 GB/s; 16 slow only while others were measured"
    )
    assert figures(8, across, alone | {(3, 4): "5"}) == (
        "slow pairs gpu-4 and gpu-5: 5.00 GB/s (12 % of the reference)"
    )


def test_without_pods_their_numbers_are_shown() -> None:
    speeds = {(0, 1): FAST, (0, 2): FAST, (1, 2): Decimal(4)}
    found = with_pairs({"loss": "1", "pairs": "old"}, PairSpeeds(3, speeds), {0: "gpu-1"}, None)
    assert found == {
        "loss": "1",
        "slow pairs": "pod 1 and pod 2: 4.00 GB/s (10 % of the fastest pair)",
        "pairs": "3 measured, the fastest 41.70 GB/s",
    }


def test_before_the_first_pair_their_number_is_shown() -> None:
    assert with_pairs({}, PairSpeeds(6), NAMES, None) == {"pairs": "0 of 6 measured"}
    assert with_pairs({"loss": "1"}, PairSpeeds(), NAMES, None) == {"loss": "1"}


def test_the_cost_is_said_in_minutes() -> None:
    assert pairs_cost(plan(64)) == (
        "After the test of all 64 nodes it measures their 2,016 pairs in 63 rounds: about 27"
        " minutes, at most 254 minutes more."
    )
