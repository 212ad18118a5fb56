"""The controller of scheduled flows: starts each slot once, or says why not."""

from datetime import datetime, timedelta

from typing_extensions import override

from bot.reconcile.controller import Step
from bot.reconcile.frame import ControllerContext, RowController
from bot.training.saved_flows.decide import is_due
from bot.training.saved_flows.record import FlowRecorder
from bot.training.saved_flows.tables import FLOW, Flow, FlowPhase

_AGAIN = timedelta(minutes=1)
"""When to try a slot again that has to wait, and to look for the next one."""


class FlowController(RowController[Flow]):
    """Reconciles the schedules of flows. Their runs have a controller of their own."""

    kind = FLOW
    table, phases = Flow, FlowPhase

    def __init__(self, context: ControllerContext, recorder: FlowRecorder) -> None:
        super().__init__(context)
        self._recorder = recorder

    @override
    def reconcile(self, row: Flow, now: datetime) -> Step:
        """Takes the slot that is due, in the transaction that ends the step."""
        due = row.next_at
        if not is_due(row, now) or due is None:
            return Step(due)
        return Step(now + _AGAIN, lambda session: self._recorder.take(session, row.id, due, now))
