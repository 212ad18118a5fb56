"""Draws charts as SVG, readable at a glance in a chat: few marks, large text."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from bot.charts.values import Bars, Chart, Curves, HeatMap, figure, segments

WIDTH = 760
_HEIGHT = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 56, 34
_INK, _MUTED, _GRID, _PAPER = "#1d1c1d", "#616061", "#e4e4e4", "#ffffff"
# Distinguishable with colour blindness, and in grey.
_COLOURS = ("#1f6feb", "#e8912d", "#2eb67d", "#9b4dca", "#56b4e9", "#d64550", "#8d8d8d")
_ROW, _ROW_LABEL = 30, 84
_MOST_TICKS = 5
_NEAREST = 1e-305
_LETTER = 9.2
_ENTRY, _LINE = 42, 27
_LONGEST_NAME = 24
_FEW = 8
_WIDEST_TITLE, _WIDEST_UNIT = 440.0, 270.0
_MOST_DIGITS, _LONG = 4, 1e5
_HATCH = (
    '<defs><pattern id="unknown" width="8" height="8" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><rect width="8" height="8" fill="#f4f4f4"/>'
    '<rect width="3" height="8" fill="#c9c9c9"/></pattern></defs>'
)


def drawn(chart: Chart) -> str:
    """The chart as an SVG document."""
    if isinstance(chart, Curves):
        return _curve_chart(chart)
    return _bar_chart(chart) if isinstance(chart, Bars) else _heat_map(chart)


def _document(height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}"'
        f' viewBox="0 0 {WIDTH} {height:g}" font-family="Lato" font-size="17">{_HATCH}'
        f'<rect width="{WIDTH}" height="{height:g}" fill="{_PAPER}"/>{"".join(parts)}</svg>'
    )


def _rect(place: tuple[float, float], size: tuple[float, float], fill: str) -> str:
    (x, y), (width, height) = place, size
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'
    )


def _text(place: tuple[float, float], said: str, style: str = "", fill: str = _MUTED) -> str:
    x, y = place
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" {style}>{escape(said)}</text>'


def _title(said: str) -> str:
    return _text((16, 32), said, 'font-size="22" font-weight="bold"', _INK)


def _bar_chart(chart: Bars) -> str:
    top = _top(chart)
    parts = [_title(chart.title), *_axis(chart, top), *_bars(chart, top)]
    if chart.line is not None:
        parts.append(_dashes(_LEFT, _y(chart.line, top), WIDTH - _RIGHT - _LEFT))
    entries = _wrapped(_entries(chart))
    parts += [_entry(entry, place) for entry, place in entries]
    return _document(max((y for _, (_, y) in entries), default=_HEIGHT) + 30, parts)


def _top(chart: Bars) -> float:
    """The value at the upper end of the axis."""
    columns = list(zip(*(each.values for each in chart.series), strict=True))
    height = sum if chart.is_stacked else max
    values = [height([value or 0.0 for value in column]) for column in columns]
    return max([*values, chart.line or 0.0]) or 1.0


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _entries(chart: Bars) -> list[tuple[str, str]]:
    """The entries of the legend: name and colour; the line has no colour."""
    entries = [(each.name, colour) for each, colour in zip(chart.series, _cycle(), strict=False)]
    if any(value is None for each in chart.series for value in each.values):
        entries.append(("unknown", "url(#unknown)"))
    return [*entries, (chart.line_name, "")] if chart.line is not None else entries


def _wrapped(
    entries: Iterable[tuple[str, str]],
) -> list[tuple[tuple[str, str], tuple[float, float]]]:
    """The legend's entries with their positions below the chart, in as many lines as needed."""
    x, y, found = 16.0, _HEIGHT + 4.0, []
    for name, colour in entries:
        said = _short(name, _LONGEST_NAME * _LETTER)
        width = _ENTRY + _LETTER * len(said)
        if x + width > WIDTH and x > _ENTRY:
            x, y = 16.0, y + _LINE
        found.append(((said, colour), (x, y)))
        x += width
    return found


def _entry(entry: tuple[str, str], place: tuple[float, float]) -> str:
    (name, colour), (x, y) = entry, place
    mark = _rect((x, y), (15, 15), colour) if colour else _dashes(x - 3, y + 8, 22)
    return mark + _text((x + 21, y + 13), name)


def _dashes(x: float, y: float, width: float) -> str:
    return (
        f'<path d="M{x:.1f} {y:.1f}h{width:.1f}" stroke="{_INK}" stroke-width="2"'
        ' stroke-dasharray="7 5" fill="none"/>'
    )


def _cycle() -> Iterator[str]:
    while True:
        yield from _COLOURS


def _axis(chart: Bars, top: float) -> Iterator[str]:
    for tick in _ticks(top):
        y = _y(tick, top)
        yield f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{_GRID}" fill="none"/>'
        yield _text((_LEFT - 8, y + 6), figure(tick), 'text-anchor="end"')
    yield _text((WIDTH - _RIGHT, 32), chart.unit, 'text-anchor="end"')
    step = (WIDTH - _LEFT - _RIGHT) / max(len(chart.labels), 1)
    every = _every(chart.labels, step)
    for place, label in enumerate(chart.labels):
        if place % every == 0:
            middle = _LEFT + (place + 0.5) * step
            yield _text((middle, _HEIGHT - 10), _short(label, step * every), 'text-anchor="middle"')


def _every(labels: Sequence[str], step: float) -> int:
    """Every how many labels one is shown, so that they do not touch; few labels are cut."""
    if len(labels) <= _FEW:
        return 1
    return max(ceil((max(map(len, labels)) + 1) * _LETTER / step), 1)


def _short(label: str, width: float) -> str:
    most = max(int(width / _LETTER), 2)
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _ticks(top: float) -> list[float]:
    """Round values from 0 up to the end of the axis."""
    size = 10.0 ** floor(log10(top / _MOST_TICKS))
    step = next(s * size for s in (1, 2, 5, 10) if top / (s * size) <= _MOST_TICKS)
    return [step * count for count in range(int(top / step) + 1)]


def _bars(chart: Bars, top: float) -> Iterator[str]:
    step = (WIDTH - _LEFT - _RIGHT) / max(len(chart.labels), 1)
    for place in range(len(chart.labels)):
        x, values = _LEFT + (place + 0.14) * step, [each.values[place] for each in chart.series]
        yield from (_stack if chart.is_stacked else _beside)(values, (x, step * 0.72), top)


def _stack(values: Sequence[float | None], at: tuple[float, float], top: float) -> Iterator[str]:
    x, width = at
    if all(value is None for value in values):
        yield _unknown(at)
        return
    reached = 0.0
    for value, colour in zip(values, _cycle(), strict=False):
        if value:
            y = _y(reached + value, top)
            yield _rect((x, y), (width, _y(reached, top) - y), colour)
            reached += value


def _beside(values: Sequence[float | None], at: tuple[float, float], top: float) -> Iterator[str]:
    x, width = at
    each = width / len(values)
    for place, (value, colour) in enumerate(zip(values, _cycle(), strict=False)):
        left = x + place * each
        if value is None:
            yield _unknown((left, each))
        else:
            y = _y(value, top)
            yield _rect((left, y), (each, _y(0, top) - y), colour)


def _unknown(at: tuple[float, float]) -> str:
    """A hatched bar for an unknown value, which differs from a bar of height 0."""
    x, width = at
    return _rect((x, _TOP), (width, _HEIGHT - _TOP - _BOTTOM), "url(#unknown)")


def _curve_chart(chart: Curves) -> str:
    points = [point for each in chart.curves for point in each.finite]
    across = _span([x for x, _ in points])
    up = _span([value for _, value in points])
    parts = [_title(_short(chart.title, _WIDEST_TITLE)), *_curve_axes(chart, across, up)]
    for curve, (colour, dash) in zip(chart.curves, _strokes(), strict=False):
        for segment in segments(curve):
            places = [(_x(x, across), _height(value, up)) for x, value in segment]
            parts.append(_stroke(places, colour, dash))
    entries = _wrapped(
        [(each.name, colour) for each, (colour, _) in zip(chart.curves, _strokes(), strict=False)]
    )
    parts += [_entry(entry, place) for entry, place in entries]
    return _document(max((y for _, (_, y) in entries), default=_HEIGHT) + 30, parts)


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, which differ."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low > max(abs(high) * 1e-9, _NEAREST):
        return low, high
    room = abs(high) / 10 if abs(high) > _NEAREST else 1.0
    return low - room, high + room


def _x(x: float, span: tuple[float, float]) -> float:
    low, high = span
    return _LEFT + (WIDTH - _RIGHT - _LEFT) * ((x - low) / (high - low))


def _height(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - (value - low) / (high - low))


def _curve_axes(
    chart: Curves, across: tuple[float, float], up: tuple[float, float]
) -> Iterator[str]:
    for tick, said in _round_ticks(*up):
        y = _height(tick, up)
        yield f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{_GRID}" fill="none"/>'
        yield _text((_LEFT - 8, y + 6), said, 'text-anchor="end"')
    unit = f"{chart.unit} by {chart.x_label}"
    yield _text((WIDTH - _RIGHT, 32), _short(unit, _WIDEST_UNIT), 'text-anchor="end"')
    for tick, said in _round_ticks(*across):
        x = _x(tick, across)
        anchor = "end" if x > WIDTH - 2 * _RIGHT else "middle"
        yield _text((x, _HEIGHT - 10), said, f'text-anchor="{anchor}"')


def _round_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round values between the ends of an axis, each as text with the digits that tell them."""
    size = 10.0 ** floor(log10((high - low) / _MOST_TICKS))
    step = next(s * size for s in (1, 2, 5, 10) if (high - low) / (s * size) <= _MOST_TICKS)
    digits = max(0, -floor(log10(step) + 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    is_long = digits > _MOST_DIGITS or max(abs(low), abs(high)) >= _LONG
    ticks = [count * step for count in range(first, last + 1)]
    return [(tick, f"{tick:.3g}" if is_long else f"{tick + 0.0:,.{digits}f}") for tick in ticks]


def _stroke(places: Sequence[tuple[float, float]], colour: str, dash: str) -> str:
    """A line through places; one place alone is a dot."""
    if len(places) == 1:
        (x, y), *_ = places
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
        f' stroke-linejoin="round"{dash}/>'
    )


def _strokes() -> Iterator[tuple[str, str]]:
    """Colours, and how a line of them is dashed once all colours are taken."""
    for dash in ("", ' stroke-dasharray="7 4"'):
        for colour in _COLOURS:
            yield colour, dash


def _heat_map(chart: HeatMap) -> str:
    bottom = 78 + _ROW * len(chart.rows)
    step = (WIDTH - _ROW_LABEL - _RIGHT) / max(len(chart.columns), 1)
    parts = [_title(chart.title), *_scale()]
    every = ceil(len(chart.columns) / 8)
    for place, label in enumerate(chart.columns):
        if place % every == 0:
            parts.append(_text((_ROW_LABEL + place * step + 2, 70), label))
    for row, (label, cells) in enumerate(zip(chart.rows, chart.cells, strict=True)):
        y = 78.0 + row * _ROW
        parts.append(_text((_ROW_LABEL - 8, y + 20), label, 'text-anchor="end"'))
        for place, value in enumerate(cells):
            fill = "url(#unknown)" if value is None else _shade(value)
            parts.append(_rect((_ROW_LABEL + place * step + 1, y + 1), (step - 2, _ROW - 2), fill))
    return _document(bottom + 14, parts)


def _scale() -> Iterator[str]:
    x = WIDTH - _RIGHT - 292.0
    yield _text((x, 32), "0 %", 'text-anchor="end"')
    for place in range(5):
        yield _rect((x + 8 + place * 22, 19), (22, 15), _shade(place / 4))
    yield _text((x + 124, 32), "100 %")
    yield _rect((x + 190, 19), (22, 15), "url(#unknown)")
    yield _text((x + 218, 32), "unknown")


def _shade(share: float) -> str:
    """From nearly white to dark blue; darker is more, also in grey."""
    part = min(max(share, 0.0), 1.0)
    light, dark = (233, 240, 250), (10, 48, 120)
    mixed = (round(a + (b - a) * part) for a, b in zip(light, dark, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
