"""The results of a network test that measures all pairs of its nodes, by node names."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from math import ceil

from bot.cluster import labels
from bot.cluster.types.objects import Pod
from bot.config import NetworkReference
from bot.training.logs.pairs import PairSpeeds
from bot.training.pairs import Pair, Plan, SlowParts, slow_at_once, slow_parts

PAIRS, SLOW_NODES, SLOW_PAIRS = "pairs", "slow nodes", "slow pairs"
_SHOWN = 4


def pairs_cost(planned: Plan) -> str:
    """How many pairs a test measures, and how long that takes, as a sentence."""
    usual, longest = (_minutes(each) for each in (planned.usual_time, planned.longest_time))
    return (
        f"After the test of all {planned.nodes} nodes it measures their {planned.pairs:,} pairs in"
        f" {len(planned.rounds)} rounds: about {usual}, at most {longest} more."
    )


def node_names(pods: Sequence[Pod]) -> dict[int, str]:
    """The node of each numbered pod."""
    numbered = ((each.labels.get(labels.INDEX, ""), each.spec.node_name) for each in pods)
    return {int(index): node for index, node in numbered if index.isdigit() and node}


def with_pairs(
    results: Mapping[str, str],
    measured: PairSpeeds,
    names: Mapping[int, str],
    reference: NetworkReference | None,
) -> dict[str, str]:
    """The results of a run with those of its pairs, which replace earlier ones."""
    if not measured.planned:
        return dict(results)
    others = {k: v for k, v in results.items() if k not in {PAIRS, SLOW_NODES, SLOW_PAIRS}}
    return others | _Figures(measured, names, reference).all()


def slow_words(results: Mapping[str, str]) -> str:
    """What of the results names slow nodes and pairs, else what was measured of the pairs."""
    slow = [f"{name} {results[name]}" for name in (SLOW_NODES, SLOW_PAIRS) if name in results]
    return " · ".join(slow) or (f"{PAIRS}: {results[PAIRS]}" if PAIRS in results else "")


class _Figures:
    """Puts the speeds of pairs in words, as a share of the reference or of the fastest pair."""

    def __init__(
        self, measured: PairSpeeds, names: Mapping[int, str], reference: NetworkReference | None
    ) -> None:
        self._measured, self._names = measured, names
        self._speeds = {**measured.speeds, **measured.alone}
        self._fastest = max(self._speeds.values(), default=Decimal(0))
        self._reference = reference.maximum if reference else None
        expected = max(self._fastest, self._reference or Decimal(0))
        self._at_once = slow_at_once(measured.speeds, measured.alone, expected)
        unsure = self._at_once - measured.alone.keys()
        known = {pair: speed for pair, speed in self._speeds.items() if pair not in unsure}
        self._slow = slow_parts(known, expected)

    def all(self) -> dict[str, str]:
        """The results by name."""
        found = {}
        if self._slow.nodes:
            found[SLOW_NODES] = _listed([self._node(each) for each in self._slow.nodes])
        if self._slow.pairs:
            by_speed = sorted(self._slow.pairs, key=self._speeds.__getitem__)
            found[SLOW_PAIRS] = _listed([self._pair(each) for each in by_speed])
        return found | {PAIRS: self._pairs(self._slow)}

    def _pairs(self, slow: SlowParts) -> str:
        planned, count = self._measured.planned, len(self._speeds)
        if not count:
            return f"0 of {planned} measured"
        fastest = f"the fastest {self._fastest:.2f} GB/s"
        if slow.is_all:
            return f"all {count} slow, {fastest}{self._share(self._fastest)}"
        if not self._measured.is_complete:
            return f"{count} of {planned} measured, {fastest}"
        if slow or self._at_once:
            return f"{planned} measured, {fastest}{self._shared()}"
        slowest = min(self._speeds, key=self._speeds.__getitem__)
        return f"all {planned} within reach, the slowest {self._pair(slowest)}"

    def _shared(self) -> str:
        count = len(self._at_once)
        return f"; {count} slow only while others were measured" if count else ""

    def _pair(self, pair: Pair) -> str:
        one, other = (self._named(each) for each in pair)
        return f"{one} and {other}: {self._speed(self._speeds[pair])}"

    def _node(self, node: int) -> str:
        its = max(speed for pair, speed in self._speeds.items() if node in pair)
        return f"{self._named(node)}: {'at most ' if its else ''}{self._speed(its)}"

    def _speed(self, speed: Decimal) -> str:
        return f"{speed:.2f} GB/s{self._share(speed)}" if speed else "no result"

    def _share(self, speed: Decimal) -> str:
        whole = self._reference or self._fastest
        if not whole:
            return ""
        of = "the reference" if self._reference else "the fastest pair"
        return f" ({round(100 * speed / whole)} % of {of})"

    def _named(self, node: int) -> str:
        return self._names.get(node) or f"pod {node}"


def _minutes(time: timedelta) -> str:
    minutes = ceil(time / timedelta(minutes=1))
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _SHOWN
    return "; ".join(words[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
