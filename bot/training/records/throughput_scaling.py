"""The comparison of throughput by number of nodes, with what perfect scaling would reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bot.charts.values import Bars, Series
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.training.records.comparing import UNKNOWN, Rate, Side, rate_of, scaling_lines
from bot.training.records.epoch_scaling import gpus_words, listed, nodes_words
from bot.training.spec import spec_of
from bot.training.tables import Run, RunPhase

_HEADER = ("Nodes", "GPUs", "Throughput", "Per node", "Ideal", "Of ideal", "Runs")
_TOO_GOOD = Decimal("1.2")
_PRINT = "It comes from the log of a run that succeeded: `Total images/sec = 12881.33875`."


@dataclass(frozen=True)
class _Size:
    """What runs on one number of nodes reached."""

    nodes: int
    rates: tuple[Decimal, ...]
    runs: tuple[str, ...]

    @property
    def mean(self) -> Decimal:
        """The throughput of a run, as the mean of all."""
        return sum(self.rates, Decimal(0)) / len(self.rates)

    def ideal(self, smallest: "_Size") -> Decimal:
        """The throughput if nodes beyond the smallest number scaled perfectly."""
        return smallest.mean * self.nodes / smallest.nodes


def throughput_comparison(sides: Sequence[Side], example: str) -> Card:
    """The card with a table and a chart; a UserError says what is missing for them."""
    reasons = {side.run.reference: _unusable(side.run) for side in sides}
    rated = [
        (side, rate)
        for side in sides
        if not reasons[side.run.reference] and (rate := rate_of(side.run)) is not None
    ]
    left_out = [(name, why) for name, why in reasons.items() if why]
    if not rated:
        name, why = left_out[0]
        raise NotFoundError(f"No run has a throughput to compare: {name} {why}", _PRINT)
    _refuse_mixed(rated)
    sizes, unit = _sizes(rated), rated[0][1].name
    if len(sizes) == 1:
        raise ConflictError(
            f"Throughput is known on {nodes_words(sizes[0].nodes)} only: {sizes[0].mean:,.2f}"
            f" {unit} ({listed(sizes[0].runs)}).",
            f"Name a run on another number of nodes too, for example `{example}`.",
        )
    lines = (*scaling_lines([side for side, _ in rated]), *_notes(sizes, unit, left_out))
    return Card(
        "Throughput by number of nodes",
        lines=lines,
        table=Table(_HEADER, tuple(_row(size, sizes[0], rated[0][0].run) for size in sizes)),
        charts=(_chart(sizes, unit),),
        footer=(plain(_footer(sizes, unit)),),
    )


def _unusable(run: Run) -> str:
    """Why the throughput of a run says nothing about a number of nodes; empty if it does."""
    if spec_of(run).nodes_range:
        return "may change its nodes while it runs; `--by epoch` compares such runs."
    if run.phase != RunPhase.SUCCEEDED:
        return "has not ended yet." if run.is_live else "has not succeeded."
    return "" if rate_of(run) else "has none in its log."


def _refuse_mixed(rated: Sequence[tuple[Side, Rate]]) -> None:
    """UsageError if nodes have different GPUs, or logs report different figures."""
    (first, rate), *others = rated
    for side, other in others:
        ours, theirs = gpus_words(first.run), gpus_words(side.run)
        if theirs != ours:
            raise UsageError(
                f"A node of {first.run.reference} has {ours}, a node of {side.run.reference}"
                f" {theirs}.",
                "Throughput is compared by nodes that have the same GPUs; without `--by nodes` runs"
                " are compared by their GPUs.",
            )
        if other.name != rate.name:
            raise UsageError(
                f"The log of {first.run.reference} reports {rate.name}, that of"
                f" {side.run.reference} {other.name}.",
                "Name runs that report the same figure.",
            )


def _sizes(rated: Sequence[tuple[Side, Rate]]) -> list[_Size]:
    """The runs by number of nodes, the smallest first."""
    counts = [spec_of(side.run).nodes for side, _ in rated]
    found = []
    for nodes in sorted(set(counts)):
        mine = [each for each, count in zip(rated, counts, strict=True) if count == nodes]
        rates = tuple(rate.value for _, rate in mine)
        found.append(_Size(nodes, rates, tuple(side.run.reference for side, _ in mine)))
    return found


def _notes(
    sizes: Sequence[_Size], unit: str, left_out: Sequence[tuple[str, str]]
) -> Iterator[Markup]:
    if any(size.mean > _TOO_GOOD * size.ideal(sizes[0]) for size in sizes):
        yield plain(
            f"Runs rarely reach more than {100 * _TOO_GOOD:.0f} % of ideal. Check that the logs"
            " report the same figure: one may count a single process, another all of them."
        )
    if not unit.startswith("total"):
        yield plain(
            f"If {unit} in these logs is the figure of one process, it does not show how runs"
            " scale. Have the program print the total of all processes."
        )
    for name, why in left_out:
        yield join(code(name), f" is left out: it {why}")


def _row(size: _Size, smallest: _Size, run: Run) -> tuple[str, ...]:
    ideal = size.ideal(smallest)
    return (
        str(size.nodes),
        f"{(spec_of(run).gpus * size.nodes).normalize():f}",
        f"{size.mean:,.2f}",
        f"{size.mean / size.nodes:,.2f}",
        f"{ideal:,.2f}",
        f"{100 * size.mean / ideal:.1f} %" if ideal else UNKNOWN,
        ", ".join(size.runs),
    )


def _chart(sizes: Sequence[_Size], unit: str) -> Bars:
    return Bars(
        title="Throughput by number of nodes",
        labels=tuple(nodes_words(size.nodes) for size in sizes),
        series=(
            Series("measured", tuple(float(size.mean) for size in sizes)),
            Series("ideal", tuple(float(size.ideal(sizes[0])) for size in sizes)),
        ),
        unit=unit,
    )


def _footer(sizes: Sequence[_Size], unit: str) -> str:
    mean = " Of several runs it is their mean." if any(len(each.runs) > 1 for each in sizes) else ""
    return (
        f"Throughput is {unit} of a run, as its log reports it.{mean} Ideal is perfect scaling from"
        f" {nodes_words(sizes[0].nodes)}: twice the throughput on twice the nodes."
    )
