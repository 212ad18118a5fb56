"""Pairs of nodes: in which order they are measured, and which of them, or which nodes, are slow.

Pure: nodes are numbers, as the pods of a run are numbered.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import zip_longest

# The form of a network test that measures them.
ALL_PAIRS = "all-pairs"
# Of a pair whose speed is below this share of what is expected, people should know.
SLOW_PERCENT = 80
# What a round usually takes, and when a pair that has not ended counts as failed.
USUAL_ROUND, LONGEST_ROUND = timedelta(seconds=25), timedelta(minutes=2)

Pair = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """Which pairs are measured at once, round by round; no two pairs of a round share a node."""

    nodes: int
    rounds: tuple[tuple[Pair, ...], ...]

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return sum(map(len, self.rounds))

    @property
    def usual_time(self) -> timedelta:
        """How long all rounds usually take."""
        return len(self.rounds) * USUAL_ROUND

    @property
    def longest_time(self) -> timedelta:
        """How long they take at most, with slow pairs measured again, one at a time."""
        return (len(self.rounds) + self.nodes) * LONGEST_ROUND


@dataclass(frozen=True)
class SlowParts:
    """What is slow: `nodes` with all of their pairs, other `pairs`, or all that was measured."""

    nodes: tuple[int, ...] = ()
    pairs: tuple[Pair, ...] = ()
    is_all: bool = False

    def __bool__(self) -> bool:
        return bool(self.nodes or self.pairs or self.is_all)


def plan(nodes: int) -> Plan:
    """Every pair of the nodes once, by bisection.

    First the pairs across the two halves of the nodes, then, at once in both halves, those across
    their halves, and so on: `nodes` - 1 rounds for a power of two.
    """
    return Plan(nodes, tuple(map(tuple, _rounds(range(nodes)))))


def slow_at_once(
    speeds: Mapping[Pair, Decimal], alone: Mapping[Pair, Decimal], expected: Decimal
) -> frozenset[Pair]:
    """The pairs that were slow only while others were measured, by their speeds alone.

    If that is so of any pair, it counts for all slow pairs that were not measured alone.
    """
    slow = {pair for pair, speed in speeds.items() if is_slow(speed, expected)}
    recovered = {pair for pair in slow & alone.keys() if not is_slow(alone[pair], expected)}
    return frozenset(recovered | (slow - alone.keys()) if recovered else ())


def slow_parts(speeds: Mapping[Pair, Decimal], expected: Decimal) -> SlowParts:
    """The nodes and pairs that are slower than expected; a speed of 0 means that a pair failed.

    A node is slow if all of at least two pairs of it are.
    """
    slow = {pair for pair, speed in speeds.items() if is_slow(speed, expected)}
    if slow and len(slow) == len(speeds):
        return SlowParts(is_all=True)
    nodes = tuple(node for node in _nodes_of(slow) if _is_slow_node(node, slow, speeds))
    pairs = tuple(sorted(pair for pair in slow if not set(pair) & set(nodes)))
    return SlowParts(nodes, pairs)


def is_slow(speed: Decimal, expected: Decimal) -> bool:
    """Whether a pair is slower than it should be."""
    return not speed or speed * 100 < expected * SLOW_PERCENT


def _rounds(nodes: Sequence[int]) -> list[list[Pair]]:
    if len(nodes) <= 1:
        return []
    middle = (len(nodes) + 1) // 2
    one, other = nodes[:middle], nodes[middle:]
    across: list[list[Pair]] = [
        [(one[(place + turn) % middle], node) for place, node in enumerate(other)]
        for turn in range(middle)
    ]
    none: list[Pair] = []
    within = zip_longest(_rounds(one), _rounds(other), fillvalue=none)
    return across + [[*first, *second] for first, second in within]


def _nodes_of(pairs: Collection[Pair]) -> list[int]:
    return sorted({node for pair in pairs for node in pair})


def _is_slow_node(node: int, slow: Collection[Pair], measured: Collection[Pair]) -> bool:
    its = [pair for pair in measured if node in pair]
    return len(its) > 1 and all(pair in slow for pair in its)
