"""Steps of workflows: what people add to their workflows in Slack's Workflow Builder."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from bot.database.database import Session
from bot.errors import UsageError, UserError
from bot.masking import holds_a_secret
from bot.quotas.steps.service import StepRequest
from bot.services import Services
from bot.slack.grammar.container_parameters import FlavorName
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
    if holds_a_secret("\n".join(inputs.values())):
        raise UsageError(
            "Something in this step looks like a secret. None of it was stored.", "Take it out."
        )
    channel, person = inputs.get("channel", ""), inputs.get("person", "")
    team = services.access.place(channel)[1]
    if team is None:
        raise UsageError(
            "The channel of this step belongs to no team.",
            "Choose a channel in which `/quota request` works.",
        )
    if not _PERSON.fullmatch(person):
        raise UsageError("This step names no person.", "Choose who requests the quota.")
    gpus = _value("gpus", _MoreGpus(), inputs)
    length = _value("length", Duration(), inputs)
    gpu_type = _value("gpu_type", FlavorName(), inputs) if inputs.get("gpu_type") else ""
    reason = " ".join(inputs.get("reason", "").split())
    if not 0 < len(reason) <= _LONGEST_REASON:
        raise UsageError(
            f"`reason` takes 1 to {_LONGEST_REASON} characters, not {len(reason)}.",
            "Say in a sentence what the GPUs are for.",
        )
    return StepRequest(person, team, channel, gpus, length, reason, gpu_type)


def _value(name: str, kind: ValueType[T], inputs: Mapping[str, str]) -> T:
    text = inputs.get(name, "").strip()
    try:
        return kind.read(text)
    except ValueError:
        raise UsageError(f"`{name}` takes {kind.form}, not `{text[:40]}`.") from None


class _MoreGpus:
    """A number of GPUs to add."""

    word = "GPUS"
    form = "a number of GPUs to add, such as `8`"
    example = "8"

    def read(self, text: str) -> int:
        """The number, with or without a plus sign."""
        return GpuAmount().read(f"+{text.removeprefix('+')}").value


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
            StepParameter("gpu_type", "GPU type", "Needed if the team has more than one",
                          is_required=False),
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
