"""In which order pairs of nodes are measured, and which nodes and pairs are then slow."""

from decimal import Decimal
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.training.pairs import Pair, SlowParts, plan, slow_at_once, slow_parts

FAST, SLOW = Decimal("41.70"), Decimal("5.10")


def all_pairs(nodes: int) -> list[Pair]:
    """Every two nodes."""
    return list(combinations(range(nodes), 2))


def speeds_of(nodes: int, slow: set[Pair]) -> dict[Pair, Decimal]:
    """The speed of every pair, of which some are slow."""
    return {pair: SLOW if pair in slow else FAST for pair in all_pairs(nodes)}


def explained(measured: set[Pair], slow: set[Pair]) -> SlowParts:
    """The same, found by trying every set of nodes: the largest of which all pairs are slow."""
    if slow == measured:
        return SlowParts(is_all=bool(slow))
    involved = sorted({node for pair in measured for node in pair})
    counts = {node: sum(node in pair for pair in measured) for node in involved}
    sets = chain.from_iterable(combinations(involved, size) for size in range(len(involved) + 1))
    fitting = [
        nodes
        for nodes in sets
        if all(counts[node] > 1 for node in nodes)
        and {pair for pair in measured if set(pair) & set(nodes)} <= slow
    ]
    nodes = max(fitting, key=len)
    rest = {pair for pair in slow if not set(pair) & set(nodes)}
    return SlowParts(nodes, tuple(sorted(rest)))


@given(st.integers(0, 33))
def test_every_pair_is_measured_exactly_once(nodes: int) -> None:
    planned = plan(nodes)
    measured = [pair for pairs in planned.rounds for pair in pairs]
    assert sorted(measured) == all_pairs(nodes)
    assert planned.pairs == nodes * (nodes - 1) // 2


@given(st.integers(0, 33))
def test_no_node_is_twice_in_a_round(nodes: int) -> None:
    for pairs in plan(nodes).rounds:
        busy = [node for pair in pairs for node in pair]
        assert len(busy) == len(set(busy))


@given(st.integers(1, 33))
def test_rounds_are_fewer_than_a_power_of_two(nodes: int) -> None:
    assert len(plan(nodes).rounds) < 2 ** (nodes - 1).bit_length() or nodes == 1


@pytest.mark.parametrize(("nodes", "rounds"), [(2, 1), (3, 3), (4, 3), (6, 6), (8, 7), (64, 63)])
def test_the_number_of_rounds_is_known_before(nodes: int, rounds: int) -> None:
    assert len(plan(nodes).rounds) == rounds


def test_pairs_across_the_halves_come_first() -> None:
    assert plan(4).rounds == (((0, 2), (1, 3)), ((1, 2), (0, 3)), ((0, 1), (2, 3)))


@given(st.data())
def test_slow_parts_are_those_of_brute_force(data: st.DataObject) -> None:
    pairs = all_pairs(data.draw(st.integers(2, 5)))
    measured = data.draw(st.sets(st.sampled_from(pairs)))
    slow = data.draw(st.sets(st.sampled_from(sorted(measured)))) if measured else set()
    speeds = {pair: SLOW if pair in slow else FAST for pair in measured}
    assert slow_parts(speeds, FAST) == explained(measured, slow)


@given(st.integers(4, 9), st.data())
def test_one_slow_node_or_pair_is_found(nodes: int, data: st.DataObject) -> None:
    node = data.draw(st.integers(0, nodes - 1))
    its = {pair for pair in all_pairs(nodes) if node in pair}
    assert slow_parts(speeds_of(nodes, its), FAST) == SlowParts(nodes=(node,))
    pair = data.draw(st.sampled_from(all_pairs(nodes)))
    assert slow_parts(speeds_of(nodes, {pair}), FAST) == SlowParts(pairs=(pair,))


def test_slow_is_below_four_fifths_of_expected() -> None:
    speeds = {(0, 1): Decimal(10), (0, 2): Decimal(8), (1, 2): Decimal("7.99")}
    assert slow_parts(speeds, Decimal(10)) == SlowParts(pairs=((1, 2),))
    assert not slow_parts(speeds, Decimal("9.98"))


def test_pairs_that_failed_are_always_slow() -> None:
    failed = dict.fromkeys(all_pairs(3), Decimal(0))
    assert slow_parts(failed, Decimal(0)) == SlowParts(is_all=True)
    assert not slow_parts({}, Decimal(0))


@given(st.data())
def test_pairs_slow_at_once_are_told_apart(data: st.DataObject) -> None:
    pairs = all_pairs(4)
    speed = st.sampled_from([FAST, SLOW])
    speeds = {pair: data.draw(speed) for pair in pairs}
    alone = {pair: data.draw(speed) for pair in pairs if data.draw(st.booleans())}
    found = slow_at_once(speeds, alone, FAST)
    recovers = any(speeds[pair] == SLOW and alone[pair] == FAST for pair in alone)
    for pair in pairs:
        stays = alone.get(pair, FAST) == SLOW
        assert (pair in found) == (recovers and speeds[pair] == SLOW and not stays)


def test_pairs_that_stay_slow_alone_are_slow() -> None:
    speeds = {(0, 1): SLOW, (0, 2): SLOW, (1, 2): FAST}
    assert not slow_at_once(speeds, {}, FAST)
    assert not slow_at_once(speeds, {(0, 1): SLOW}, FAST)
    assert slow_at_once(speeds, {(0, 1): FAST}, FAST) == {(0, 1), (0, 2)}
