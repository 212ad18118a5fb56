"""The controller of sweeps: submits the next run when one has ended, until all have."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.reconcile.controller import Step
from bot.reconcile.frame import ControllerContext, RowController
from bot.slack.messages import refresh_cards
from bot.training.sweeps.cells import Cell, cells_of
from bot.training.sweeps.decide import EndSweep, SubmitCell, decide
from bot.training.sweeps.record import SweepRecorder
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import SWEEP

_AGAIN = timedelta(minutes=1)
"""When to try a cell again that could not be submitted: the end of other runs wakes no sweep."""


@dataclass(frozen=True)
class _SweepRows:
    """A sweep with its cells, as they are before a step."""

    sweep: Sweep
    cells: tuple[Cell, ...]


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
        return _SweepRows(sweep, cells_of(session, sweep)) if sweep is not None else None

    @override
    def reconcile(self, row: _SweepRows, now: datetime) -> Step:
        """Submits at most one run, in the transaction that ends the step."""
        decision = decide(row.sweep, row.cells)
        # Waking it once a run is submitted brings the next step forward.
        again = now + _AGAIN if isinstance(decision, SubmitCell) else None
        return Step(again, lambda session: self._carry_out(session, row.sweep.id, now))

    def _carry_out(self, session: Session, sweep_id: str, now: datetime) -> None:
        """Decides once more, by the rows of this transaction: a person may have stopped it."""
        sweep = _known(session, sweep_id)
        if sweep is None:
            return
        cells = cells_of(session, sweep)
        match decide(sweep, cells):
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
