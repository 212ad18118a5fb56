"""The controller of sweeps: submits the next run when one has ended, until all have."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.reconcile.controller import Step
from bot.reconcile.frame import ControllerContext, RowController
from bot.slack.messages import refresh_cards
from bot.training.sweeps.cells import Cell, cells_of
from bot.training.sweeps.decide import EndSweep, StopCell, SubmitCell, decide
from bot.training.sweeps.early import Judged, still_due
from bot.training.sweeps.judging import judged_in
from bot.training.sweeps.record import SweepRecorder
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import SWEEP

_AGAIN = timedelta(minutes=1)
"""When to try a cell again that could not be submitted: the end of other runs wakes no sweep."""


@dataclass(frozen=True)
class _SweepRows:
    """A sweep with its cells, and what its rule says of them, as they are before a step."""

    sweep: Sweep
    cells: tuple[Cell, ...]
    judged: Judged


class SweepController(RowController[_SweepRows]):
    """Reconciles sweeps. Their runs have a controller of their own, so nothing is observed here."""

    kind = SWEEP
    table, phases = Sweep, SweepPhase

    def __init__(self, context: ControllerContext, recorder: SweepRecorder) -> None:
        super().__init__(context)
        self._recorder = recorder

    @override
    def load(self, session: Session, row_id: str) -> _SweepRows | None:
        sweep = _known(session, row_id)
        if sweep is None:
            return None
        cells = cells_of(session, sweep)
        return _SweepRows(sweep, cells, judged_in(session, sweep, cells))

    @override
    def reconcile(self, row: _SweepRows, now: datetime) -> Step:
        """Submits or stops at most one run, in the transaction that ends the step."""
        decision = decide(row.sweep, row.cells, row.judged.stops)
        # Waking it once a run is submitted brings the next step forward.
        again = now + _AGAIN if isinstance(decision, SubmitCell) else None
        return Step(again, lambda session: self._carry_out(session, row, now))

    def _carry_out(self, session: Session, row: _SweepRows, now: datetime) -> None:
        """Decides once more, by the rows of this transaction: a person may have stopped it.

        Series are not read again: they only grow, and a run that has ended is not stopped.
        """
        sweep = _known(session, row.sweep.id)
        if sweep is None:
            return
        cells = cells_of(session, sweep)
        self._recorder.note_unjudged(session, sweep, row.judged.unjudged)
        match decide(sweep, cells, still_due(sweep, cells, row.judged.stops)):
            case StopCell(stop):
                self._recorder.stop_early(session, sweep, stop, now)
            case SubmitCell(number):
                self._recorder.submit(session, sweep, number, now)
            case EndSweep(phase):
                self._recorder.end(session, sweep, cells, phase, now)
            case _:
                # A run has changed, which may have been submitted again after the sweep's end.
                refresh_cards(session, sweep.subject, live=sweep.is_live)


def _known(session: Session, sweep_id: str) -> Sweep | None:
    """The sweep, unless it is in a phase that only a newer version of the bot knows."""
    sweep = session.get(Sweep, sweep_id)
    return sweep if sweep is not None and sweep.phase in set(SweepPhase) else None
