"""Steps of workflows: what people add to their workflows in Slack's Workflow Builder."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from bot.database.database import Session
from bot.errors import UsageError, UserError
from bot.quotas.steps.service import StepRequest
from bot.services import Services
from bot.slack.grammar.parameters import Duration, GpuAmount, ValueType
from bot.slack.grammar.steps import StepParameter, WorkflowStep

T = TypeVar("T")

_PERSON = re.compile(r"[UW][A-Z0-9]+")
_LONGEST_REASON = 300


def _begin(
    services: Services,
    session: Session,
    execution_id: str,
    inputs: Mapping[str, str],
    now: datetime,
) -> None:
    """Asks the person of the step, or has it fail with what is wrong."""
    steps = services.quotas.steps
    try:
        steps.offer(session, execution_id, _read(services, inputs), now)
    except UserError as error:
        steps.refuse(session, execution_id, error, now)


def _read(services: Services, inputs: Mapping[str, str]) -> StepRequest:
    channel, person = inputs.get("channel", ""), inputs.get("person", "")
    team = services.access.place(channel)[1]
    if team is None:
        raise UsageError(
            "The channel of this step belongs to no team.",
            "Choose a channel in which `/quota request` works.",
        )
    if not _PERSON.fullmatch(person):
        raise UsageError("This step names no person.", "Choose who requests the quota.")
    gpus = inputs.get("gpus", "").strip()
    amount = _value("gpus", GpuAmount(), f"+{gpus.removeprefix('+')}", "a number such as `8`")
    length = _value("length", Duration(), inputs.get("length", ""), Duration().form)
    reason = " ".join(inputs.get("reason", "").split())
    if not 0 < len(reason) <= _LONGEST_REASON:
        raise UsageError(
            f"`reason` takes 1 to {_LONGEST_REASON} characters, not {len(reason)}.",
            "Say in a sentence what the GPUs are for.",
        )
    return StepRequest(person, team, channel, amount.value, length, reason)


def _value(name: str, kind: ValueType[T], text: str, form: str) -> T:
    try:
        return kind.read(text.strip())
    except ValueError:
        raise UsageError(f"`{name}` takes {form}, not `{text.strip()[:40]}`.") from None


STEPS = (
    WorkflowStep(
        callback_id="request_gpu_quota",
        title="Request GPU quota",
        description="Ask a person to request more GPUs for their team; ends when it is decided",
        inputs=(
            StepParameter("person", "Person", "Who requests it", "slack#/types/user_id"),
            StepParameter("channel", "Team channel", "A channel of the team",
                          "slack#/types/channel_id"),
            StepParameter("gpus", "GPUs", "How many to add, for example 8"),
            StepParameter("length", "How long", "For example 8h or 3d"),
            StepParameter("reason", "Reason", "Shown to the approvers"),
        ),
        outputs=(
            StepParameter("decision", "Decision",
                          "approved, denied, expired, withdrawn or failed"),
            StepParameter("decided_by", "Decided by", "The approvers who voted"),
            StepParameter("length", "How long", "How long the quota is raised if approved"),
            StepParameter("number", "Number", "The request's number, as /quota history shows it"),
        ),
        begin=_begin,
    ),
)  # fmt: skip
