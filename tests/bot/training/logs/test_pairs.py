"""What a network test says of the pairs of its nodes."""

from decimal import Decimal

from bot.training.logs.bandwidth import Bandwidth, read_bandwidth
from bot.training.logs.pairs import PairSpeeds, read_pairs

LINES = (
    "# Avg bus bandwidth    : 10.13",
    "Pairs: 3 in 3 rounds",
    "Pair 0-2: 41.70 GB/s",
    "Pairs: step 1/3",
    "Pair 1-2: 5.10 GB/s",
    "Pair 0-1: failed. ssh: connect to host net-1: No route to host",
    "Pair 1-2 alone: 41.65 GB/s",
)


def test_pairs_are_read_at_once_and_alone() -> None:
    speeds = {(0, 1): Decimal(0), (0, 2): Decimal("41.70"), (1, 2): Decimal("5.10")}
    found = read_pairs(LINES)
    assert found == PairSpeeds(3, speeds, {(1, 2): Decimal("41.65")})
    assert found.is_complete


def test_pairs_so_far_are_not_complete() -> None:
    found = read_pairs(LINES[:4])
    assert (found.planned, len(found.speeds), found.is_complete) == (3, 1, False)


def test_other_tests_measure_no_pairs() -> None:
    assert read_pairs(LINES[:1]) == PairSpeeds()
    assert read_pairs(LINES[2:]) == PairSpeeds()


def test_a_test_that_starts_again_counts_anew() -> None:
    assert read_pairs((*LINES, *LINES[:2])) == PairSpeeds(3, {})


def test_pairs_are_no_rows_of_the_table() -> None:
    assert read_bandwidth(LINES) == Bandwidth(average=10.13)
