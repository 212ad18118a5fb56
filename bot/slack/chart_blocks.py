"""Charts as Slack's own blocks, as pictures, or as text: what the workspace accepts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from bot.charts.svg import drawn
from bot.charts.values import Bars, Chart, Curves, described, sampled, short_number
from bot.slack.blocks import digest_of
from bot.slack.markup import plain
from bot.slack.shortening import cut, cut_markup

# Slack's limits for a chart of its own.
_TITLE = 50
_NAME = 20
_SERIES = 6
_POINTS = 20
_CHARTS = 2
_ALT = 2_000
_WORDS = 1_400


class Plainness(IntEnum):
    """How a message shows charts and long tables; each step avoids what Slack rejected."""

    ALL = 0
    PICTURES = 1
    WORDS = 2


@dataclass(frozen=True)
class Showing:
    """How charts are to be shown; `files` are the pictures that Slack has, by chart."""

    plainness: Plainness = Plainness.ALL
    files: Mapping[str, str] = field(default_factory=dict)


def chart_blocks(charts: Sequence[Chart], showing: Showing) -> list[dict[str, Any]]:
    """A block for each chart: Slack's own, a picture, or words where there is neither."""
    native = _native(charts, showing)
    return [
        _own(chart) if place in native else _picture(chart, showing)
        for place, chart in enumerate(charts)
    ]


def missing(charts: Sequence[Chart], showing: Showing) -> tuple[Chart, ...]:
    """The charts that need a picture which Slack does not have yet."""
    if showing.plainness == Plainness.WORDS:
        return ()
    native = _native(charts, showing)
    return tuple(
        chart
        for place, chart in enumerate(charts)
        if place not in native and name_of(chart) not in showing.files
    )


def name_of(chart: Chart) -> str:
    """The name of a chart's picture."""
    return digest_of(drawn(chart), 8)


def alt_text(chart: Chart, most: int = _ALT) -> str:
    """The chart as text, cut to Slack's limit for alternative texts."""
    return cut(described(chart), most)


def _native(charts: Sequence[Chart], showing: Showing) -> frozenset[int]:
    if showing.plainness != Plainness.ALL:
        return frozenset()
    fitting = [place for place, chart in enumerate(charts) if _is_native(chart)]
    return frozenset(fitting[:_CHARTS])


def _is_native(chart: Chart) -> bool:
    """Slack stacks no bars, draws no line across them, and takes no unknown value or empty text."""
    if isinstance(chart, Curves):
        return _drawn_by_slack(chart) is not None
    if not isinstance(chart, Bars) or chart.is_stacked or chart.line is not None:
        return False
    names = {cut(each.name, _NAME) for each in chart.series}
    return (
        all((chart.title, chart.unit, *names, *chart.labels))
        and 0 < len(names) == len(chart.series) <= _SERIES
        and 0 < len(chart.labels) <= _POINTS
        and len({cut(label, _NAME) for label in chart.labels}) == len(chart.labels)
        and all(value is not None for each in chart.series for value in each.values)
    )


def _drawn_by_slack(chart: Curves) -> dict[str, Any] | None:
    """The curves at some places as Slack draws lines; None if it cannot."""
    names = [cut(each.name, _NAME) for each in chart.curves]
    sample = sampled(chart, _POINTS)
    if sample is None or not all((chart.title, chart.unit, chart.x_label, *names)):
        return None
    is_long = sample.places[-1] - sample.places[0] >= 2 * _POINTS
    labels = [f"{place:,.0f}" if is_long else short_number(place) for place in sample.places]
    if not 0 < len(names) == len(set(names)) <= _SERIES or len(set(labels)) < len(labels):
        return None
    series = [
        {
            "name": name,
            "data": [
                {"label": label, "value": float(f"{value:.4g}")}
                for label, value in zip(labels, values, strict=True)
            ],
        }
        for name, values in zip(names, sample.values, strict=True)
    ]
    axis = {
        "categories": labels,
        "x_label": cut(chart.x_label, _TITLE),
        "y_label": cut(chart.unit, _TITLE),
    }
    return {"type": "line", "series": series, "axis_config": axis}


def _own(chart: Chart) -> dict[str, Any]:
    if isinstance(chart, Curves) and (lines := _drawn_by_slack(chart)) is not None:
        return _block("data_visualization", title=cut(chart.title, _TITLE), chart=lines)
    if not isinstance(chart, Bars):
        raise TypeError(chart)
    labels = [cut(label, _NAME) for label in chart.labels]
    series = [
        {
            "name": cut(each.name, _NAME),
            "data": [
                {"label": label, "value": round(value or 0.0, 2)}
                for label, value in zip(labels, each.values, strict=True)
            ],
        }
        for each in chart.series
    ]
    axis = {"categories": labels, "y_label": cut(chart.unit, _TITLE)}
    shape = {"type": "bar", "series": series, "axis_config": axis}
    return _block("data_visualization", title=cut(chart.title, _TITLE), chart=shape)


def _picture(chart: Chart, showing: Showing) -> dict[str, Any]:
    file = showing.files.get(name_of(chart))
    if file is None or showing.plainness == Plainness.WORDS:
        said = cut_markup(plain(described(chart)), _WORDS)
        return _block("section", text={"type": "mrkdwn", "text": said, "verbatim": True})
    return _block("image", slack_file={"id": file}, alt_text=alt_text(chart))


def _block(kind: str, **content: object) -> dict[str, Any]:
    return {"type": kind, "block_id": "", **content}
