"""The comparison of epoch times by number of nodes, with what perfect scaling would reach."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bot.charts.values import Bars, Series
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.training.records.comparing import UNKNOWN
from bot.training.records.epochs import EpochTime, epoch_times
from bot.training.spec import spec_of
from bot.training.tables import Run

_HEADER = ("Nodes", "GPUs", "Epoch", "Ideal", "Speed-up", "Efficiency", "Epochs", "Runs")
_ROUGH_SECONDS = 300
_PRINT = (
    "Its log needs a line such as `Epoch 3/10` for each epoch, and two or more epochs on the same"
    " number of nodes: the first one is not timed."
)


@dataclass(frozen=True)
class Size:
    """What was timed on one number of nodes, of all runs that had it."""

    nodes: int
    timed: EpochTime
    runs: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The mean of an epoch."""
        return self.timed.seconds / self.timed.epochs

    def ideal(self, smallest: "Size") -> float:
        """What an epoch would take if nodes beyond the smallest number scaled perfectly."""
        return smallest.seconds * smallest.nodes / self.nodes


def epoch_comparison(runs: Sequence[Run], example: str) -> Card:
    """The card with a table and a chart; a UserError says what is missing for them."""
    timed = {run.reference: epoch_times(run) for run in runs}
    known = [run for run in runs if timed[run.reference]]
    unknown = [run.reference for run in runs if not timed[run.reference]]
    if not known:
        raise NotFoundError(f"{listed(unknown)} {_has(unknown)} no epoch times.", _PRINT)
    _refuse_mixed(known)
    sizes = _sizes(timed)
    if len(sizes) == 1:
        raise ConflictError(
            f"Epochs were timed on {nodes_words(sizes[0].nodes)} only:"
            f" {_seconds(sizes[0].seconds)} each"
            f" ({sizes[0].timed.epochs} of {listed(sizes[0].runs)}).",
            f"Name a run on another number of nodes too, for example `{example}`; an elastic run"
            " may change its own while it runs.",
        )
    return _card(sizes, spec_of(known[0]).gpus, unknown)


def _card(sizes: Sequence[Size], gpus: Decimal, unknown: Sequence[str]) -> Card:
    smallest = sizes[0]
    rows = tuple(_row(size, smallest, gpus) for size in sizes)
    footer = (
        f"Ideal is perfect scaling from {nodes_words(smallest.nodes)}: half the time on twice"
        " the nodes. Speed-up and efficiency compare with the same."
        " An epoch counts if it ran on the same number of nodes from beginning to end; the first"
        " one never does. The bot reads the log every 30 s at best, so the end of an epoch is known"
        " within 30 s."
    )
    return Card(
        "Epoch times by number of nodes",
        lines=tuple(_notes(sizes, unknown)),
        table=Table(_HEADER, rows),
        charts=(_chart(sizes),),
        footer=(plain(footer),),
    )


def _notes(sizes: Sequence[Size], unknown: Sequence[str]) -> Iterator[Markup]:
    for size in sizes:
        if size.timed.seconds < _ROUGH_SECONDS:
            lasted = f"{size.timed.seconds:.0f} s"
            yield plain(f"On {nodes_words(size.nodes)} only {lasted} were timed: a rough figure.")
    for name in unknown:
        yield join(code(name), f" has no epoch times. {_PRINT}")


def _row(size: Size, smallest: Size, gpus: Decimal) -> tuple[str, ...]:
    ideal, seconds = size.ideal(smallest), size.seconds
    return (
        str(size.nodes),
        f"{(gpus * size.nodes).normalize():f}",
        _seconds(seconds),
        _seconds(ideal),
        f"{smallest.seconds / seconds:.2f}x" if seconds else UNKNOWN,
        f"{100 * ideal / seconds:.0f} %" if seconds else UNKNOWN,
        str(size.timed.epochs),
        ", ".join(size.runs),
    )


def _chart(sizes: Sequence[Size]) -> Bars:
    return Bars(
        title="Epoch time by number of nodes",
        labels=tuple(nodes_words(size.nodes) for size in sizes),
        series=(
            Series("measured", tuple(size.seconds for size in sizes)),
            Series("ideal", tuple(size.ideal(sizes[0]) for size in sizes)),
        ),
        unit="seconds per epoch",
    )


def _sizes(timed: Mapping[str, Mapping[int, EpochTime]]) -> list[Size]:
    """What was timed by number of nodes, the smallest first; several runs are added up."""
    found = []
    for nodes in sorted({nodes for times in timed.values() for nodes in times}):
        runs = tuple(name for name, times in timed.items() if nodes in times)
        each = [timed[name][nodes] for name in runs]
        total = EpochTime(sum(one.epochs for one in each), sum(one.seconds for one in each))
        found.append(Size(nodes, total, runs))
    return found


def _refuse_mixed(runs: Sequence[Run]) -> None:
    """UsageError if nodes of one run have other GPUs than those of another."""
    first, *others = runs
    for run in others:
        if gpus_words(run) != gpus_words(first):
            raise UsageError(
                f"A node of {first.reference} has {gpus_words(first)}, a node of {run.reference}"
                f" {gpus_words(run)}.",
                "Epochs are compared by nodes that have the same GPUs; without `--by epoch` runs"
                " are compared by their GPUs.",
            )


def gpus_words(run: Run) -> str:
    """The GPUs of one node of a run: how many, and which."""
    spec = spec_of(run)
    sort = run.flavor or spec.gpu_type or ""
    return " ".join(filter(None, (f"{spec.gpus.normalize():f}", sort, "GPUs")))


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s"


def nodes_words(count: int) -> str:
    """A number of nodes: `1 node`, `3 nodes`."""
    return f"{count} node{'' if count == 1 else 's'}"


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def listed(names: Sequence[str]) -> str:
    """Names as part of a sentence: `one, two and three`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
