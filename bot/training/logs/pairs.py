"""Parses what a network test says of the pairs of its nodes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from bot.training.pairs import Pair

_PLANNED = re.compile(r"^Pairs: (\d{1,6}) in \d{1,6} rounds")
_SPEED = re.compile(r"^Pair (\d{1,4})-(\d{1,4})( alone)?: (?:(\d{1,7}\.\d{2}) GB/s|failed)")


@dataclass(frozen=True)
class PairSpeeds:
    """The bus bandwidth of each pair so far, in GB/s, 0 for one that failed.

    `planned` is the number of pairs that are measured, 0 if the test measures none. `alone` are
    those that were measured again while no other was.
    """

    planned: int = 0
    speeds: Mapping[Pair, Decimal] = field(default_factory=dict)
    alone: Mapping[Pair, Decimal] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all pairs were measured."""
        return len(self.speeds) >= self.planned


def read_pairs(lines: Iterable[str]) -> PairSpeeds:
    """The speeds in the lines of a test."""
    planned, speeds, alone = 0, dict[Pair, Decimal](), dict[Pair, Decimal]()
    for line in lines:
        if found := _PLANNED.match(line):
            planned, speeds, alone = int(found[1]), {}, {}
        elif planned and (found := _SPEED.match(line)):
            one, other = sorted((int(found[1]), int(found[2])))
            (alone if found[3] else speeds)[one, other] = Decimal(found[4] or 0)
    return PairSpeeds(planned, speeds, alone)
