"""Metrics that are read from rows when Prometheus asks, instead of counted as events happen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlmodel import Session


@dataclass(frozen=True)
class GaugeSpec:
    """A metric: its name with its unit, what it says, and its labels; none names a person."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    def at(self, value: float | timedelta, *labels: str) -> "Reading":
        """A value of it; durations are in seconds."""
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        return Reading(self, labels, float(seconds))


class Reading(NamedTuple):
    """One value of a metric, with the values of its labels in order."""

    gauge: GaugeSpec
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class GaugeSource:
    """Metrics that one look reads; what is unknown is left out, never 0.

    `read` makes no outside call, and costs little enough to be asked every few seconds.
    """

    gauges: tuple[GaugeSpec, ...]
    read: Callable[[Session, datetime], Iterable[Reading]]
