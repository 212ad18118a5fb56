"""The controller of requests: starts a removal once it is approved."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.leftovers.removals.decide import EndRemoval, StartRemoval, decide
from bot.leftovers.removals.record import RemovalRecorder, finish
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalPhase, RemovalRequest
from bot.reconcile.controller import Step
from bot.reconcile.frame import ControllerContext, RowController

_AGAIN = timedelta(minutes=1)
"""When to try again what cannot be started yet."""


class RemovalRequestController(RowController[RemovalRequest]):
    """Reconciles requests. What is removed has a controller of its own, which checks again."""

    kind = REMOVAL_REQUEST
    table, phases = RemovalRequest, RemovalPhase

    def __init__(
        self, context: ControllerContext, approvals: ApprovalContext, recorder: RemovalRecorder
    ) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._recorder = recorder

    @override
    def reconcile(self, row: RemovalRequest, now: datetime) -> Step:
        """Reads again who approved it; the removal starts when the step is saved."""
        approval = self._approvals.decided(REMOVAL_REQUEST, row.id)
        if approval is None:
            return Step(None)
        again = now + _AGAIN if isinstance(decide(row, approval), StartRemoval) else None
        return Step(again, lambda session: self._carry_out(session, row.id, now))

    def _carry_out(self, session: Session, row_id: str, now: datetime) -> None:
        """Decides once more, by the rows of this transaction: it may have been withdrawn."""
        row = self.known(session, row_id)
        if row is None:
            return
        match decide(row, self._approvals.approvals.of(session, REMOVAL_REQUEST, row_id)):
            case StartRemoval():
                self._recorder.start(session, row, now)
            case EndRemoval(phase, reason, unblock):
                row.reason, row.unblock = reason, unblock
                finish(session, row, phase, now)
            case _:
                pass
