"""The comparison of runs: speed-up, efficiency and cost relative to the first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

from bot.config import Prices
from bot.durations import format_duration
from bot.errors import UsageError
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.training.arguments import differing_arguments
from bot.training.kinds import gpus_of
from bot.training.records.record import hours
from bot.training.records.spans import Times
from bot.training.spec import spec_of
from bot.training.tables import Run, RunPhase
from bot.training.wording import state_words

MOST = 10
UNKNOWN = "unknown"
_HEADER = ("Run", "State", "GPUs", "Ran", "Speed-up", "Efficiency", "Throughput", "GPU-hours")
_RATES = ("/sec", "/s", "per second", "throughput")
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Side:
    """One of the compared runs, with the time it spent in each phase."""

    run: Run
    times: Times

    @property
    def seconds(self) -> Decimal | None:
        """How long it ran, in seconds; None while it runs, and if it did not finish."""
        running = self.times.running
        if self.run.phase != RunPhase.SUCCEEDED or not running:
            return None
        return Decimal(str(running.total_seconds()))

    @property
    def sort(self) -> str:
        """The type of its GPUs: as allocated, else as requested; empty if unknown."""
        return self.run.flavor or spec_of(self.run).gpu_type or ""

    @property
    def gpus(self) -> Decimal | None:
        """The number of GPUs it ran with, on average if that changed; None if unknown."""
        if self.seconds is None or not self.times.gpu_hours:
            return None
        return self.times.gpu_hours * _SECONDS_PER_HOUR / self.seconds


def refuse_few(runs: Sequence[Run], example: str) -> None:
    """UsageError unless there are at least two different runs, and few enough for a table."""
    if len(runs) < 2:  # noqa: PLR2004 - to compare takes two
        raise UsageError("A comparison needs at least two runs.", _hint(example))
    refuse_many(runs, example)


def refuse_many(runs: Sequence[Run], example: str) -> None:
    """UsageError unless the runs are different ones, and few enough for a table."""
    names = [run.reference for run in runs]
    if len(runs) > MOST:
        raise UsageError(f"{len(runs)} runs are too many for one table.", f"Name at most {MOST}.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice.", _hint(example))


def _hint(example: str) -> str:
    return f"Name two or more runs, for example `{example}`."


def comparison(sides: Sequence[Side], prices: Prices, now: datetime) -> Card:
    """The card with a table of the runs; speed-up and efficiency are relative to the first."""
    first = sides[0]
    is_priced = bool(prices.per_gpu_hour)
    header = (*_HEADER, "Cost") if is_priced else _HEADER
    mixed = len({side.sort for side in sides}) > 1
    rows = tuple(
        _row(side, first, now, mixed=mixed) + ((_cost(side, prices),) if is_priced else ())
        for side in sides
    )
    against = join(
        "Speed-up and efficiency are relative to ", code(first.run.reference),
        plain(": how many times faster a run is, and that divided by how many times the GPUs."),
    )  # fmt: skip
    names = " and ".join(side.run.reference for side in sides)
    lines = (*scaling_lines(sides), *differing_arguments([side.run for side in sides]))
    return Card(f"{names} side by side", lines=lines, table=Table(header, rows), footer=(against,))


def scaling_lines(sides: Sequence[Side]) -> Iterator[Markup]:
    """For each larger run, its throughput as a share of what the smallest runs reach per GPU.

    That is how benchmarks compare one run on many nodes with as many runs on one node each.
    """
    rated = [(side, rate) for side in sides if (rate := rate_of(side.run)) is not None]
    sizes = [gpus_of(spec_of(side.run)) for side, _ in rated]
    if not rated or len({(side.sort, rate.name) for side, rate in rated}) > 1 or not min(sizes):
        return
    small = [each for each, size in zip(rated, sizes, strict=True) if size == min(sizes)]
    each, together = min(sizes), sum((rate.value for _, rate in small), Decimal(0))
    if not together:
        return
    for (side, rate), size in zip(rated, sizes, strict=True):
        if size > each:
            ideal = together * size / (each * len(small))
            yield join(
                code(side.run.reference), f" reaches {rate.value:,.2f} {rate.name} on {size:f}"
                f" GPUs, {100 * rate.value / ideal:.1f} % of ", *_ideal(small, each, size, ideal),
            )  # fmt: skip


def _ideal(
    small: Sequence[tuple[Side, "Rate"]], each: Decimal, size: Decimal, ideal: Decimal
) -> Iterator[Markup | str]:
    """What the throughput is compared with: small runs together, or scaled up to as many GPUs."""
    yield f"{ideal:,.2f}, "
    yield from _listed([code(side.run.reference) for side, _ in small])
    if each * len(small) == size:
        yield f" together ({each:f} GPUs each)." if len(small) > 1 else "."
    else:
        yield f" ({each:f} GPUs{' each' if len(small) > 1 else ''}) scaled to as many."


def _listed(names: Sequence[Markup]) -> Iterator[Markup | str]:
    for number, name in enumerate(names):
        if number:
            yield " and " if number == len(names) - 1 else ", "
        yield name


def _row(side: Side, first: Side, now: datetime, *, mixed: bool) -> tuple[str, ...]:
    run, seconds = side.run, side.seconds
    sort = f" {side.sort or UNKNOWN}" if mixed else ""
    ran = side.times.running if not run.is_live else None
    speed_up = first.seconds / seconds if first.seconds and seconds else None
    return (
        run.reference,
        state_words(run, now).partition(" in ")[0].partition(" after ")[0],
        f"{gpus_of(spec_of(run)).normalize():f}{sort}",
        format_duration(ran) if ran else UNKNOWN,
        UNKNOWN if speed_up is None else f"{speed_up:.2f}x",
        _efficiency(side, first, speed_up),
        _throughput(run),
        hours(side.times.gpu_hours if not run.is_live else None),
    )


def _efficiency(side: Side, first: Side, speed_up: Decimal | None) -> str:
    """The speed-up divided by the ratio of GPUs, in percent."""
    if speed_up is None or side.gpus is None or first.gpus is None:
        return UNKNOWN
    return f"{100 * speed_up * first.gpus / side.gpus:.0f} %"


@dataclass(frozen=True)
class Rate:
    """A throughput, and what its log calls it."""

    name: str
    value: Decimal


def rate_of(run: Run) -> Rate | None:
    """The throughput of a run that has succeeded, as a number; None if its log has none."""
    name = _rate_name(run)
    if name is None or run.phase != RunPhase.SUCCEEDED:
        return None
    try:
        value = Decimal(run.results[name].replace(",", ""))
    except InvalidOperation:
        return None
    return Rate(name, value) if value.is_finite() else None


def _rate_name(run: Run) -> str | None:
    """The name of its throughput; the total takes precedence over that of one process."""
    rates = [name for name in run.results if name.lower().endswith(_RATES)]
    return next((each for each in rates if each.startswith("total")), rates[0] if rates else None)


def _throughput(run: Run) -> str:
    name = _rate_name(run)
    return UNKNOWN if name is None else f"{run.results[name]} {name}"


def _cost(side: Side, prices: Prices) -> str:
    price, spent = prices.per_gpu_hour.get(side.run.flavor), side.times.gpu_hours
    if price is None or spent is None or side.run.is_live:
        return UNKNOWN
    return f"{price * spent:,.2f} {prices.currency}"
