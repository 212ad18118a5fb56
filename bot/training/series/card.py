"""The curves of metrics, of one run or of several in one picture, with their ends as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.charts.values import Curves, common_range, short_number
from bot.errors import NotFoundError, UsageError
from bot.slack.card import AsFile, Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.training.arguments import differing_arguments
from bot.training.series.axis import Axis, Drawn, Over, axis_for
from bot.training.series.points import Point
from bot.training.series.service import missing_of, value_words
from bot.training.series.tables import RunSeries
from bot.training.tables import Run

MOST_CURVES = 8
_USUAL = ("loss", "acc", "/sec")
_HEADER = ("Run", "Metric", "Newest", "Lowest", "Highest", "Values")
_NAMED = 10
_REPORT = 'quartermaster: {"step": 100, "loss": 0.41}'


@dataclass(frozen=True)
class CurvesRequest:
    """Which metrics to draw, over what (None: what they have), and whether as a file.

    `of` is what the runs are called together; empty if each is named.
    """

    names: tuple[str, ...] = ()
    over: Over | None = None
    is_file: bool = False
    of: str = ""


class Metrics(NamedTuple):
    """A run with its series."""

    run: Run
    rows: Sequence[RunSeries]


def curves_card(found: Sequence[Metrics], asked: CurvesRequest) -> Card:
    """The card of the curves; a UserError says which metrics there are."""
    without = [each.run.reference for each in found if not each.rows]
    if without:
        raise NotFoundError(
            f"{_listed(without)} {'has' if len(without) == 1 else 'have'} no metrics.",
            f"A program reports them by lines such as `{_REPORT}`.",
        )
    names = asked.names or _usual_names(found)
    drawn = [_drawn(each, name, found, names) for each in found for name in names]
    if len(drawn) > MOST_CURVES:
        raise UsageError(
            f"{len(drawn)} curves are too many for one picture.",
            f"Name fewer runs or metrics: {MOST_CURVES} curves at most.",
        )
    axis = axis_for(drawn, asked.over)
    chart = Curves(
        _title(found, names, asked.of), tuple(map(axis.curve, drawn)), axis.label, _unit(names)
    )
    shown = drawn if len(found) > 1 else _all_of(found[0])
    together = [asked.of.rpartition(" ")[2]] if asked.of else [each.run.reference for each in found]
    name = f"{'-'.join(each.replace('#', '-') for each in together)[:60]}.png"
    return Card(
        chart.title,
        lines=tuple(_notes(found, chart, axis, is_file=asked.is_file)),
        charts=() if asked.is_file else (chart,),
        table=Table(_HEADER, tuple(_row(each) for each in shown)),
        as_file=AsFile(name) if asked.is_file else None,
        picture=chart if asked.is_file else None,
        footer=tuple(_thinned(drawn)),
    )


def newest_words(rows: Sequence[RunSeries]) -> str:
    """The newest value of each metric, for the record of a run."""
    said = [f"{row.name} {_at(row.series().newest)}" for row in rows[:_NAMED]]
    more = len(rows) - _NAMED
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "")


def _drawn(each: Metrics, name: str, found: Sequence[Metrics], names: Sequence[str]) -> Drawn:
    row = next((row for row in each.rows if row.name.casefold() == name.casefold()), None)
    if row is None:
        has = [row.name for row in each.rows]
        more = f" and {len(has) - _NAMED} more" if len(has) > _NAMED else ""
        raise NotFoundError(
            f"{each.run.reference} has no metric {name}.",
            f"It has: {', '.join(has[:_NAMED])}{more}.",
        )
    words = [each.run.reference] if len(found) > 1 else []
    words += [row.name] if len(names) > 1 or not words else []
    return Drawn(" ".join(words), each.run, row.name, row.series())


def _all_of(each: Metrics) -> list[Drawn]:
    return [Drawn(row.name, each.run, row.name, row.series()) for row in each.rows]


def _usual_names(found: Sequence[Metrics]) -> tuple[str, ...]:
    """The metrics that are drawn if none is named: those of one sort that all runs have."""
    shared = [
        row.name
        for row in found[0].rows
        if all(row.name in {one.name for one in each.rows} for each in found)
    ]
    if not shared:
        raise NotFoundError(
            f"{_listed([each.run.reference for each in found])} have no metric in common.",
            "Name one of each run's own with `/train show RUN --curves METRIC`.",
        )
    room = max(MOST_CURVES // len(found), 1)
    for sort in _USUAL:
        if chosen := tuple(name for name in shared if sort in name.lower()):
            return chosen[:room]
    return (shared[0],)


def _title(found: Sequence[Metrics], names: Sequence[str], together: str) -> str:
    return f"{_listed(names)} of {together or _listed([each.run.reference for each in found])}"


def _unit(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "value"


def _notes(
    found: Sequence[Metrics], chart: Curves, axis: Axis, *, is_file: bool
) -> Iterator[Markup]:
    for run, _ in found:
        missing = missing_of(run)
        if missing.gaps:
            times = "once" if missing.gaps == 1 else f"{missing.gaps} times"
            yield join(
                code(run.reference), f" lacks values: {times} lines of its log were gone before"
                " they could be read."
            )  # fmt: skip
        if missing.names:
            yield join(
                code(run.reference), " has more metrics than are kept. Left out: ",
                plain(f"{', '.join(missing.names)}."),
            )  # fmt: skip
    yield from differing_arguments([each.run for each in found])
    yield from () if is_file else _clipped(chart, axis)


def _clipped(chart: Curves, axis: Axis) -> Iterator[Markup]:
    """Which part of the curves a message shows, if not all of it."""
    common = common_range(chart)
    xs = [x for each in chart.curves for x, _ in each.finite]
    if common is not None and (common[0] > min(xs) or common[1] < max(xs)):
        low, high = map(short_number, common)
        yield plain(
            f"Shown from {axis.label} {low} to {high}, where all curves have values. `--file`"
            " shows all of them."
        )


def _row(drawn: Drawn) -> tuple[str, ...]:
    series = drawn.series
    ends = (series.newest, series.lowest, series.highest)
    return (drawn.run.reference, drawn.metric, *map(_at, ends), f"{series.count:,}")


def _at(point: Point | None) -> str:
    """A value, and where it was."""
    if point is None:
        return "none"
    said = value_words(point.value)
    if point.step is not None:
        return f"{said} at step {short_number(point.step)}"
    return f"{said} at epoch {short_number(point.epoch)}" if point.epoch is not None else said


def _thinned(drawn: Sequence[Drawn]) -> Iterator[Markup]:
    thinned = [each for each in drawn if each.series.every > 1]
    if thinned:
        said = ", ".join(f"{each.series.every} of {each.name}" for each in thinned)
        yield plain(f"One value is drawn for each {said}. Newest, lowest and highest are exact.")


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
