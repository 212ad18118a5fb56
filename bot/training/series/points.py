"""A series of values: at most some hundred points of it, and its exact ends."""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from struct import pack, unpack
from typing import NamedTuple

MOST_POINTS = 512
"""How many points of a series are kept; beyond that, every second one of them goes."""

_NUMBERS = 4
_UNKNOWN = float("nan")


class Point(NamedTuple):
    """One value: at which step and epoch, if known, and when, in seconds since 1970."""

    step: float | None
    epoch: float | None
    at: float
    value: float


@dataclass(frozen=True)
class Series:
    """The kept points of a metric: each `every`-th of `count`, the first one included.

    The newest point, the lowest and the highest are kept beside them, exactly.
    """

    count: int = 0
    every: int = 1
    points: tuple[Point, ...] = ()
    newest: Point | None = None
    lowest: Point | None = None
    highest: Point | None = None

    def curve(self) -> tuple[Point, ...]:
        """The points to draw: those that are kept, up to the newest."""
        if self.newest is None or self.points[-1:] == (self.newest,):
            return self.points
        return (*self.points, self.newest)


def extended(series: Series, points: Iterable[Point]) -> Series:
    """The series with these points after its own."""
    kept, count, every = [*series.points], series.count, series.every
    newest, lowest, highest = series.newest, series.lowest, series.highest
    for point in points:
        if count % every == 0:
            kept.append(point)
        if len(kept) > MOST_POINTS:
            kept, every = kept[::2], 2 * every
        count, newest = count + 1, point
        if not math.isnan(point.value):
            lowest = point if lowest is None or point.value < lowest.value else lowest
            highest = point if highest is None or point.value > highest.value else highest
    return replace(
        series, count=count, every=every, points=tuple(kept),
        newest=newest, lowest=lowest, highest=highest,
    )  # fmt: skip


def packed(series: Series) -> bytes:
    """The points of a series in a few bytes."""
    ends = (series.newest, series.lowest, series.highest)
    numbers = [each for point in (*ends, *series.points) for each in _numbers(point)]
    return zlib.compress(pack(f"<{len(numbers)}d", *numbers))


def unpacked(count: int, every: int, content: bytes) -> Series:
    """The series of so many points, of which this was packed."""
    raw = zlib.decompress(content)
    numbers = unpack(f"<{len(raw) // 8}d", raw)
    # By column, which takes half as long: a sweep with early stops reads many of them.
    step, epoch, at, value = (numbers[column::_NUMBERS] for column in range(_NUMBERS))
    points = [*map(Point._make, zip(_known(step), _known(epoch), at, value, strict=True))]
    newest, lowest, highest = (None if math.isnan(each.at) else each for each in points[:3])
    return Series(count, every, tuple(points[3:]), newest, lowest, highest)


def _numbers(point: Point | None) -> tuple[float, ...]:
    if point is None:
        return (_UNKNOWN,) * _NUMBERS
    return tuple(_UNKNOWN if each is None else each for each in point)


def _known(numbers: Sequence[float]) -> Sequence[float | None]:
    if not any(map(math.isnan, numbers)):
        return numbers
    return [None if math.isnan(each) else each for each in numbers]
