"""The table of workflow steps that request quota."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

STEP = "quota-step"


class StepPhase(StrEnum):
    """The phase of a step: OFFERED waits for its person, REQUESTED for the approvers.

    REFUSED has an error that Slack is to know; REPORTED is the end, Slack knows.
    """

    OFFERED = "offered"
    REQUESTED = "requested"
    REFUSED = "refused"
    REPORTED = "reported"


class QuotaStep(SQLModel, table=True):
    """One run of the step in a workflow: what it asks for, in whose name.

    `execution_id` is Slack's. `gpus` are added for
    `seconds`; `gpu_type` is empty where the team has only one. `override_id` is the request, once
    the person made it; `error` is what Slack is to show, where it comes to none.
    """

    __tablename__: ClassVar[Any] = "quota_steps"

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    execution_id: str = Field(unique=True)
    team: str = ""
    person: str = ""
    channel: str = ""
    gpus: int = 0
    gpu_type: str = ""
    seconds: int = 0
    reason: str = ""
    asked_at: datetime = Field(sa_type=Moment)
    phase: str = StepPhase.OFFERED
    override_id: str | None = None
    error: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment, index=True)

    @property
    def is_cleared(self) -> bool:
        """Whether Slack knows how it ended."""
        return self.ended_at is not None

    @property
    def subject(self) -> Subject:
        """What its message is about."""
        return Subject(self.workspace_id, STEP, self.id)
