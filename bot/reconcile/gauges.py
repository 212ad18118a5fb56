"""Metrics of rows that are due: how late they are, by kind."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.reconcile.due import Overdue, overdue

_LAG = GaugeSpec("quartermaster_due_lag_seconds", "Delay of the most overdue row", ("kind",))
_LATE = GaugeSpec(
    "quartermaster_due_late_rows", "Rows that have been overdue for a minute or longer", ("kind",)
)
_LATE_FROM = timedelta(minutes=1)
_NONE = Overdue(timedelta(), 0)


def due_gauges(kinds: Sequence[str]) -> GaugeSource:
    """The metrics of the rows of these kinds."""

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        found = overdue(session, now, _LATE_FROM)
        for kind in kinds:
            late = found.get(kind, _NONE)
            yield _LAG.at(late.longest, kind)
            yield _LATE.at(late.rows, kind)

    return GaugeSource((_LAG, _LATE), read)
