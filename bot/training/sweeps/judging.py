"""Reads the series by which the cells of a sweep are judged, and drawn."""

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.training.series.axis import Over
from bot.training.series.points import unpacked
from bot.training.series.tables import RunSeries
from bot.training.sweeps.cells import Cell
from bot.training.sweeps.early import PLACES, CellPoints, Judged, judged, points_over
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
    found: dict[Over, dict[int, CellPoints]] = {over: {} for over in PLACES}
    for row in rows:
        for over in PLACES:
            points = _points(row.count, row.every, row.points, over, sweep.best)
            if points is not None:
                found[over][runs[row.run_id].number] = points
    return judged(sweep, cells, found)


@lru_cache(maxsize=1024)
def _points(count: int, every: int, content: bytes, over: Over, best: str) -> CellPoints | None:
    """The values in a row: most rows of a sweep are as they were when it was judged last."""
    return points_over(unpacked(count, every, content), over, best)
