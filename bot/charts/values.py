"""The content of charts as plain values, and their description as text."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

OTHERS = "others"
_FARTHEST = 1e300


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


@dataclass(frozen=True)
class Curve:
    """One line: points of x and value, x rising; one that cannot be drawn interrupts it."""

    name: str
    points: tuple[tuple[float, float], ...]

    @property
    def finite(self) -> list[tuple[float, float]]:
        """The points that can be drawn."""
        return [point for point in self.points if _is_drawn(*point)]


@dataclass(frozen=True)
class Curves:
    """Lines over a common axis; `x_label` is what that counts, `unit` what values are."""

    title: str
    curves: tuple[Curve, ...]
    x_label: str
    unit: str


@dataclass(frozen=True)
class Sample:
    """Curves at a few places of the axis, where all of them have values."""

    places: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]


Chart = Bars | HeatMap | Curves


def folded(series: Sequence[Series], most: int) -> tuple[Series, ...]:
    """At most `most` series, largest first; the smallest are combined into one."""
    largest = sorted(series, key=lambda each: -sum(value or 0 for value in each.values))
    if len(largest) <= most:
        return tuple(largest)
    rest = zip(*(each.values for each in largest[most - 1 :]), strict=True)
    return (*largest[: most - 1], Series(OTHERS, tuple(map(_total, rest))))


def described(chart: Chart) -> str:
    """The chart as text, for people who cannot see it."""
    if isinstance(chart, Curves):
        return _lines(chart)
    return _bars(chart) if isinstance(chart, Bars) else _heat(chart)


def common_range(chart: Curves) -> tuple[float, float] | None:
    """The part of the axis on which all curves have values; None if there is none."""
    ranges = [(found[0][0], found[-1][0]) for each in chart.curves if (found := each.finite)]
    if not ranges or len(ranges) < len(chart.curves):
        return None
    low, high = max(each[0] for each in ranges), min(each[1] for each in ranges)
    return (low, high) if low < high else None


def sampled(chart: Curves, most: int) -> Sample | None:
    """The curves at so many places, each with its last value up to there; None if they are apart.

    Nothing is interpolated: every value is one that was measured.
    """
    common = common_range(chart)
    if common is None:
        return None
    low, high = common
    places = tuple(low + (high - low) * number / (most - 1) for number in range(most))
    found = []
    for curve in chart.curves:
        points = curve.finite
        xs = [x for x, _ in points]
        found.append(tuple(points[max(bisect_right(xs, x) - 1, 0)][1] for x in places))
    return Sample(places, tuple(found))


def short_number(value: float) -> str:
    """A number with the digits that matter: 0.4123, 1,204 or 3.2e-07."""
    least, most = 10_000, 1e15
    return f"{value:,.0f}" if least <= abs(value) < most else f"{value:.4g}"


def figure(value: float) -> str:
    """A value as people read it: 1,204, 12.5 or 0."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"  # noqa: PLR2004  # digits that matter


def percent(share: float) -> str:
    """A share of 1 as people read it: 63 %."""
    return f"{100 * share:.0f} %"


def _is_drawn(x: float, value: float) -> bool:
    """Whether both are numbers whose differences are numbers, too."""
    return abs(x) <= _FARTHEST and abs(value) <= _FARTHEST


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


def _lines(chart: Curves) -> str:
    told = []
    for each in chart.curves:
        points = each.finite
        if not points:
            told.append(f"{each.name}: no finite value")
            continue
        values = [value for _, value in points]
        told.append(
            f"{each.name}: {short_number(values[0])} to {short_number(values[-1])}, lowest"
            f" {short_number(min(values))}, highest {short_number(max(values))}"
        )
    return f"{chart.title}, in {chart.unit} by {chart.x_label}. {'; '.join(told)}."


def segments(curve: Curve) -> list[list[tuple[float, float]]]:
    """The points of a curve, cut where one cannot be drawn."""
    found: list[list[tuple[float, float]]] = [[]]
    for x, value in curve.points:
        if _is_drawn(x, value):
            found[-1].append((x, value))
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


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
