"""A series as JSON: a column for each of step, epoch, time and value."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.training.series.points import Point
from bot.training.series.tables import RunSeries

_NAMES = {math.inf: "inf", -math.inf: "-inf"}


def exported(row: RunSeries) -> dict[str, Any]:
    """The kept points, and the exact ends; numbers that JSON lacks are `nan`, `inf` and `-inf`."""
    series = row.series()
    points = series.curve()
    return {
        "reported": row.is_reported,
        "count": series.count,
        "every": series.every,
        "newest": _point(series.newest),
        "lowest": _point(series.lowest),
        "highest": _point(series.highest),
        "step": [_whole(point.step) for point in points],
        "epoch": [_whole(point.epoch) for point in points],
        "time": [_time(point.at) for point in points],
        "value": [_number(point.value) for point in points],
    }


def _point(point: Point | None) -> Mapping[str, Any] | None:
    if point is None:
        return None
    return {
        "step": _whole(point.step),
        "epoch": _whole(point.epoch),
        "time": _time(point.at),
        "value": _number(point.value),
    }


def _time(at: float) -> str:
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _number(value: float) -> float | str:
    return "nan" if math.isnan(value) else _NAMES.get(value, value)


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value
