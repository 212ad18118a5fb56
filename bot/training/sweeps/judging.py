"""Reads the series by which the cells of a sweep are judged, and drawn."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.training.series.axis import Drawn
from bot.training.series.tables import RunSeries
from bot.training.sweeps.cells import Cell
from bot.training.sweeps.early import Judged, judged
from bot.training.sweeps.tables import Sweep


def judged_in(session: Session, sweep: Sweep, cells: Sequence[Cell]) -> Judged:
    """What the sweep's rule says of its cells now; nothing without a rule, or after its end."""
    if not sweep.stop_early or not sweep.is_live:
        return Judged()
    runs = {cell.run.id: cell for cell in cells if cell.run is not None}
    rows = session.scalars(
        select(RunSeries)
        .where(col(RunSeries.run_id).in_(runs))
        .where(func.lower(col(RunSeries.name)) == sweep.metric.lower())
        .where(col(RunSeries.count) > 0)
    )
    found = {}
    for row in rows:
        cell = runs[row.run_id]
        if cell.run is not None:
            found[cell.number] = Drawn(row.name, cell.run, row.name, row.series())
    return judged(sweep, cells, found)
