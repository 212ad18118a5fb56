"""Decides the next step for a sweep. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.reconcile.decisions import Wait
from bot.training.sweeps.cells import Cell, counts_of
from bot.training.sweeps.early import EarlyStop
from bot.training.sweeps.tables import Sweep, SweepPhase


@dataclass(frozen=True)
class SubmitCell:
    """Submit the run of this cell."""

    number: int


@dataclass(frozen=True)
class EndSweep:
    """The sweep has ended: none of its runs is live, and it submits no more."""

    phase: SweepPhase


@dataclass(frozen=True)
class StopCell:
    """Stop the run of a cell early."""

    stop: EarlyStop


Decision = Wait | SubmitCell | EndSweep | StopCell


def decide(sweep: Sweep, cells: Sequence[Cell], stops: Sequence[EarlyStop] = ()) -> Decision:
    """The next step for a sweep: at most one cell is submitted, or stopped early."""
    if not sweep.is_live:
        return Wait()
    if stops:
        return StopCell(stops[0])
    live = counts_of(cells).live
    left = next((each.number for each in cells if each.run is None), None)
    if sweep.phase == SweepPhase.STOPPING:
        return Wait() if live else EndSweep(SweepPhase.STOPPED)
    if left is None:
        return Wait() if live else EndSweep(SweepPhase.ENDED)
    return SubmitCell(left) if sweep.at_most is None or live < sweep.at_most else Wait()
