"""What to do next with a step. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.durations import format_duration
from bot.quotas.steps.tables import QuotaStep, StepPhase
from bot.quotas.tables import Override, OverridePhase
from bot.quotas.wording import number
from bot.reconcile.decisions import Wait

LASTS = timedelta(days=7)
"""How long a person can answer."""
_LOOK = timedelta(seconds=15)
_APPROVED = {
    OverridePhase.APPROVED,
    OverridePhase.ACTIVE,
    OverridePhase.ENDING,
    OverridePhase.ENDED,
}
_UNANSWERED = "The person who was asked did not answer within 7 days. Nothing was requested."


@dataclass(frozen=True)
class StepObserved:
    """The request that was made, and who decided it; None as long as there is none."""

    request: Override | None = None
    deciders: Sequence[str] = ()


@dataclass(frozen=True)
class Complete:
    """Complete the step with these outputs."""

    outputs: Mapping[str, str]


@dataclass(frozen=True)
class Refuse:
    """Let the step fail with this error."""

    error: str


Decision = Wait | Complete | Refuse


def decide(row: QuotaStep, observed: StepObserved, now: datetime) -> Decision:
    """What to do next with a step."""
    request = observed.request
    if row.phase == StepPhase.REFUSED:
        return Refuse(row.error)
    if row.phase == StepPhase.OFFERED:
        ends = row.asked_at + LASTS
        return Refuse(_UNANSWERED) if now >= ends else Wait(ends)
    if request is None:
        return Refuse("The request no longer exists.")
    if request.phase == OverridePhase.ASKED:
        return Wait(now + _LOOK)
    return Complete(_outputs(request, observed.deciders))


def _outputs(request: Override, deciders: Sequence[str]) -> dict[str, str]:
    length = timedelta(seconds=request.duration_seconds or 0)
    return {
        "decision": _decision(request),
        "decided_by": ", ".join(f"<@{person}>" for person in deciders) or "-",
        "length": format_duration(length),
        "number": number(request),
    }


def _decision(request: Override) -> str:
    phase = OverridePhase(request.phase)
    if phase in _APPROVED or (phase is OverridePhase.REVOKED and request.starts_at is not None):
        return "approved"
    return "withdrawn" if phase is OverridePhase.REVOKED else phase.value
