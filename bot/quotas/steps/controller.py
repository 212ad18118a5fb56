"""Reports to Slack how steps of workflows ended."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import structlog
from sqlmodel import Session
from typing_extensions import override

from bot.errors import ChatError
from bot.quotas.service import QuotaService
from bot.quotas.steps.decide import Complete, Decision, StepObserved, decide
from bot.quotas.steps.tables import STEP, QuotaStep, StepPhase
from bot.quotas.tables import Override
from bot.reconcile.controller import Trouble
from bot.reconcile.decisions import Wait
from bot.reconcile.frame import ControllerContext, Findings, Reconciler

log = structlog.get_logger()

# The workflow was cancelled, or an earlier report arrived whose answer was lost.
_OVER = {"execution_not_in_running_state", "function_execution_not_found"}
_REFUSED = {"parameter_validation_failed", "not_allowed_token_type"}


class StepReporter(Protocol):
    """Tells Slack how steps ended; ChatError if it does not learn it."""

    def complete_step(self, execution_id: str, outputs: Mapping[str, str]) -> None:
        """The step is done."""
        ...

    def fail_step(self, execution_id: str, error: str) -> None:
        """The step failed."""
        ...


class StepController(Reconciler[QuotaStep, StepObserved, Decision]):
    """Waits for the person and for the approvers, and reports the end."""

    kind = STEP
    table = QuotaStep
    phases = StepPhase

    def __init__(
        self, context: ControllerContext, quotas: QuotaService, reporter: StepReporter
    ) -> None:
        super().__init__(context)
        self._quotas = quotas
        self._reporter = reporter

    @override
    def observe(self, row: QuotaStep, now: datetime) -> StepObserved:
        return self._context.database.read(lambda session: self._observed(session, row))

    @override
    def decide(self, row: QuotaStep, observed: StepObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: QuotaStep, observed: StepObserved, decision: Decision) -> Decision:
        try:
            self._report(row.execution_id, decision)
        except ChatError as error:
            if error.code not in _OVER | _REFUSED:
                raise
            log.warning("a workflow did not take the end of its step", code=error.code)
        return decision

    @override
    def record(
        self, session: Session, row: QuotaStep, found: Findings[Decision, StepObserved]
    ) -> None:
        current = session.get(QuotaStep, row.id)
        if current is not None and not current.is_cleared:
            current.phase, current.ended_at = StepPhase.REPORTED, found.now
            session.add(current)

    @override
    def next_look(self, row: QuotaStep, found: Findings[Decision, StepObserved]) -> datetime | None:
        return None

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Does nothing: the report is retried, and the workflow waits."""

    def _report(self, execution_id: str, decision: Decision) -> None:
        match decision:
            case Complete(outputs):
                self._reporter.complete_step(execution_id, outputs)
            case Wait():
                pass
            case _:
                self._reporter.fail_step(execution_id, decision.error)

    def _observed(self, session: Session, row: QuotaStep) -> StepObserved:
        request = session.get(Override, row.override_id) if row.override_id else None
        if request is None:
            return StepObserved()
        return StepObserved(request, self._quotas.decision(session, request).people)
