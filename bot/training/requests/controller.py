"""The controller of requests: submits the run once its cost is approved."""

from datetime import datetime, timedelta

from sqlmodel import Session
from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.reconcile.controller import Step
from bot.reconcile.frame import ControllerContext, RowController
from bot.training.requests.decide import EndRequest, SubmitRun, decide
from bot.training.requests.record import RunRequestRecorder, finish
from bot.training.requests.tables import RUN_REQUEST, RequestPhase, RunRequest

_AGAIN = timedelta(minutes=1)
"""When to try a run again that cannot be submitted yet."""


class RunRequestController(RowController[RunRequest]):
    """Reconciles requests. What it submits has a controller of its own."""

    kind = RUN_REQUEST
    table, phases = RunRequest, RequestPhase

    def __init__(
        self, context: ControllerContext, approvals: ApprovalContext, recorder: RunRequestRecorder
    ) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._recorder = recorder

    @override
    def reconcile(self, row: RunRequest, now: datetime) -> Step:
        """Reads again who approved it; the run is submitted when the step is saved."""
        approval = self._approvals.decided(RUN_REQUEST, row.id)
        if approval is None:
            return Step(None)
        again = now + _AGAIN if isinstance(decide(row, approval), SubmitRun) else None
        return Step(again, lambda session: self._carry_out(session, row.id, now))

    def _carry_out(self, session: Session, row_id: str, now: datetime) -> None:
        """Decides once more, by the rows of this transaction: it may have been withdrawn."""
        row = self.known(session, row_id)
        if row is None:
            return
        match decide(row, self._approvals.approvals.of(session, RUN_REQUEST, row_id)):
            case SubmitRun():
                self._recorder.submit(session, row, now)
            case EndRequest(phase, reason, unblock):
                row.reason, row.unblock = reason, unblock
                finish(session, row, phase, now)
            case _:
                pass
