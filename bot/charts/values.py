"""The content of charts as plain values, and their description as text."""

from collections.abc import Sequence
from dataclasses import dataclass

OTHERS = "others"


@dataclass(frozen=True)
class Series:
    """One colour of a bar chart: a value for each label, None if unknown."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Bars:
    """Bars over labels, of several series side by side, or on top of each other if stacked.

    `unit` is what values are in; `line` is a value drawn across all bars, named `line_name`.
    """

    title: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    unit: str
    is_stacked: bool = False
    line: float | None = None
    line_name: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A row for each of `rows`, a cell for each of `columns`; shares in 0..1, None is unknown."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]


Chart = Bars | HeatMap


def folded(series: Sequence[Series], most: int) -> tuple[Series, ...]:
    """At most `most` series, largest first; the smallest are combined into one."""
    largest = sorted(series, key=lambda each: -sum(value or 0 for value in each.values))
    if len(largest) <= most:
        return tuple(largest)
    rest = zip(*(each.values for each in largest[most - 1 :]), strict=True)
    return (*largest[: most - 1], Series(OTHERS, tuple(map(_total, rest))))


def described(chart: Chart) -> str:
    """The chart as text, for people who cannot see it."""
    return _bars(chart) if isinstance(chart, Bars) else _heat(chart)


def figure(value: float) -> str:
    """A value as people read it: 1,204, 12.5 or 0."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"  # noqa: PLR2004  # digits that matter


def percent(share: float) -> str:
    """A share of 1 as people read it: 63 %."""
    return f"{100 * share:.0f} %"


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _bars(chart: Bars) -> str:
    parts = []
    for label, *values in zip(chart.labels, *(each.values for each in chart.series), strict=True):
        told = [
            f"{each.name} {'unknown' if value is None else figure(value)}"
            for each, value in zip(chart.series, values, strict=True)
            if value is None or value
        ]
        parts.append(f"{label}: {', '.join(told) if told else '0'}")
    name = chart.line_name[:1].upper() + chart.line_name[1:]
    line = f" {name}: {figure(chart.line)}." if chart.line is not None else ""
    return f"{chart.title}, in {chart.unit}. {'; '.join(parts)}.{line}"


def _heat(chart: HeatMap) -> str:
    parts = []
    for row, cells in zip(chart.rows, chart.cells, strict=True):
        known = [value for value in cells if value is not None]
        if not known:
            parts.append(f"{row}: unknown")
            continue
        unknown = f", {len(cells) - len(known)} unknown" if len(known) < len(cells) else ""
        parts.append(
            f"{row}: {percent(min(known))} to {percent(max(known))},"
            f" mean {percent(sum(known) / len(known))}{unknown}"
        )
    return f"{chart.title}. {'; '.join(parts)}."
