"""Which specs a record may have: people who may create objects can write what they like there."""

from collections.abc import Iterator
from decimal import Decimal

from bot.cluster.types.quantities import parse_quantity
from bot.slack.grammar.parameters import NodeCount
from bot.training.spec import RunSpec

# Far above any cluster, and still a number that cards, reports and moments can take.
_MOST, _LONGEST_SECONDS = 1_000_000, 10 * 366 * 86_400
_LARGEST, _SMALLEST_EXPONENT = Decimal(2**63), -18


def is_calculable(spec: RunSpec) -> bool:
    """Whether the numbers of a spec can be calculated with."""
    try:
        amounts = [spec.gpus, *map(parse_quantity, _quantities(spec))]
    except (ValueError, ArithmeticError):
        return False
    fewest, most = spec.nodes_allowed
    return (
        all(map(_is_amount, amounts))
        and all(1 <= each <= NodeCount.maximum for each in (spec.nodes, fewest, most))
        and 1 <= (spec.processes or 1) <= _MOST
        and 0 <= spec.efa <= _MOST
        and all(0 <= each <= _LONGEST_SECONDS for each in _seconds(spec))
    )


def _quantities(spec: RunSpec) -> Iterator[str]:
    yield from (spec.cpu, spec.memory, spec.shm)
    yield from spec.gpu_requests.values()
    yield from (each.size for each in spec.volumes)


def _is_amount(amount: Decimal) -> bool:
    """Whether it is a usual number: one with a large exponent has millions of digits."""
    exponent = amount.as_tuple().exponent
    is_usual = isinstance(exponent, int) and exponent >= _SMALLEST_EXPONENT
    return is_usual and 0 <= amount <= _LARGEST


def _seconds(spec: RunSpec) -> Iterator[int]:
    """Its times; the longest of a session is cut to what its team allows."""
    kept = spec.snapshot.keep_seconds if spec.snapshot is not None else None
    longest = min(spec.longest_seconds or 0, 0)
    yield from (spec.time_limit_seconds or 0, spec.session_seconds or 0, longest, kept or 0)
