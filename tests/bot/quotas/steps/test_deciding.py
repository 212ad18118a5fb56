"""What becomes of a step of a workflow, from its row and its request."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from bot.quotas.steps.decide import Complete, Refuse, StepObserved, decide
from bot.quotas.steps.tables import QuotaStep, StepPhase
from bot.quotas.tables import Override, OverridePhase
from bot.reconcile.decisions import Wait

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def step(phase: StepPhase, *, asked: timedelta = timedelta(0), error: str = "") -> QuotaStep:
    return QuotaStep(
        workspace_id="T0QM", execution_id="Fx1", asked_at=NOW - asked, phase=phase, error=error
    )


def request(phase: OverridePhase, starts_at: datetime | None = None) -> Override:
    return Override(
        id="0" * 26 + "4f09ab",
        workspace_id="T0QM",
        cluster="default",
        team="team-a",
        queue="team-a",
        flavor="h100",
        resource="nvidia.com/gpu",
        mode="nominal_quota",
        amount=Decimal(8),
        shown_from=Decimal(4),
        duration_seconds=3 * 24 * 3600,
        reason="deadline",
        requester="U0ALICE",
        channel="C0TEAMA",
        asked_at=NOW,
        phase=phase,
        starts_at=starts_at,
    )


def test_an_unanswered_step_ends_after_a_week() -> None:
    begun = step(StepPhase.OFFERED, asked=timedelta(days=6))
    assert decide(begun, StepObserved(), NOW) == Wait(NOW + timedelta(days=1))
    late = step(StepPhase.OFFERED, asked=timedelta(days=7))
    assert decide(late, StepObserved(), NOW) == Refuse(
        "The person who was asked did not answer within 7 days. Nothing was requested."
    )


def test_a_refused_step_fails_with_its_error() -> None:
    refused = step(StepPhase.REFUSED, error="No team.")
    assert decide(refused, StepObserved(), NOW) == Refuse("No team.")


def test_a_step_waits_for_the_approvers() -> None:
    asked = StepObserved(request(OverridePhase.ASKED))
    assert decide(step(StepPhase.REQUESTED), asked, NOW) == Wait(NOW + timedelta(seconds=15))


@pytest.mark.parametrize(
    ("phase", "started", "decision"),
    [
        (OverridePhase.APPROVED, False, "approved"),
        (OverridePhase.ACTIVE, True, "approved"),
        (OverridePhase.ENDED, True, "approved"),
        (OverridePhase.DENIED, False, "denied"),
        (OverridePhase.EXPIRED, False, "expired"),
        (OverridePhase.FAILED, False, "failed"),
        (OverridePhase.REVOKED, False, "withdrawn"),
        (OverridePhase.REVOKED, True, "approved"),
    ],
)
def test_a_decided_step_says_how(phase: OverridePhase, *, started: bool, decision: str) -> None:
    decided = StepObserved(request(phase, NOW if started else None), ("U0CAROL", "U0ERIN"))
    assert decide(step(StepPhase.REQUESTED), decided, NOW) == Complete(
        {
            "decision": decision,
            "decided_by": "<@U0CAROL>, <@U0ERIN>",
            "length": "3d",
            "number": "4f09ab",
        }
    )


def test_a_request_that_is_gone_fails_it() -> None:
    assert decide(step(StepPhase.REQUESTED), StepObserved(), NOW) == Refuse(
        "The request no longer exists."
    )
