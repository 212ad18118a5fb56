"""Series: what is kept of many points, and what of them is exact."""

import math

from hypothesis import given
from hypothesis import strategies as st

from bot.training.series.points import (
    MOST_POINTS,
    Point,
    Series,
    extended,
    packed,
    unpacked,
)

NUMBERS = st.floats(allow_nan=False)


def at(step: int, value: float | None = None) -> Point:
    return Point(float(step), None, 1e9 + step, float(step) if value is None else value)


def test_every_second_point_goes_when_full() -> None:
    full = extended(Series(), map(at, range(MOST_POINTS)))
    assert (full.every, len(full.points)) == (1, MOST_POINTS)
    more = extended(full, [at(MOST_POINTS)])
    assert (more.every, len(more.points), more.count) == (2, MOST_POINTS // 2 + 1, MOST_POINTS + 1)
    assert [point.step for point in more.points] == list(range(0, MOST_POINTS + 1, 2))


def test_points_kept_do_not_depend_on_looks() -> None:
    points = [at(step) for step in range(5000)]
    at_once = extended(Series(), points)
    in_looks = Series()
    for begin in range(0, 5000, 7):
        in_looks = extended(in_looks, points[begin : begin + 7])
    assert in_looks == at_once
    assert at_once.every == 16
    assert [point.step for point in at_once.points] == list(range(0, 5000, 16))


def test_newest_lowest_and_highest_are_exact() -> None:
    values = [math.sin(step) for step in range(10_000)] + [0.5]
    series = extended(Series(), (at(step, value) for step, value in enumerate(values)))
    assert series.lowest == at(values.index(min(values)), min(values))
    assert series.highest == at(values.index(max(values)), max(values))
    assert series.newest == at(10_000, 0.5)
    assert series.curve()[-1] == series.newest


def test_nan_is_kept_and_never_best() -> None:
    series = extended(Series(), [at(0, math.nan), at(1, math.inf), at(2, 3.0), at(3, math.nan)])
    assert [str(point.value) for point in series.points] == ["nan", "inf", "3.0", "nan"]
    assert (series.lowest, series.highest) == (at(2, 3.0), at(1, math.inf))
    again = unpacked(series.count, series.every, packed(series))
    assert [str(point.value) for point in again.points] == ["nan", "inf", "3.0", "nan"]
    only = extended(Series(), [at(0, math.nan)])
    assert (unpacked(1, 1, packed(only)).lowest, only.highest) == (None, None)


@given(st.lists(st.tuples(NUMBERS | st.none(), NUMBERS | st.none(), NUMBERS, NUMBERS)))
def test_packed_points_are_the_same_again(points: list[tuple[float, float, float, float]]) -> None:
    series = extended(Series(), [Point(*each) for each in points])
    assert unpacked(series.count, series.every, packed(series)) == series


def test_a_series_takes_16_kilobytes_at_most() -> None:
    points = [Point(s, s / 7, 1e9 + s * 1.1, math.sin(s * 1.3)) for s in range(MOST_POINTS)]
    assert len(packed(extended(Series(), points))) <= 16 * 1024 + 200
