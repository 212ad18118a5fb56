"""The table of saved flows: the runs that each starts, and when."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

FLOW = "flow"


class FlowPhase(StrEnum):
    """The phase of a saved flow: PAUSED has a schedule that starts nothing, the last is the end."""

    SAVED = "saved"
    SCHEDULED = "scheduled"
    PAUSED = "paused"
    DELETED = "deleted"


class Flow(SQLModel, table=True):
    """Runs that wait for each other, saved under a name to be started together.

    `steps` are the runs with their specs and edges (`steps`), each after those that it waits for.

    A schedule starts them for `scheduler`, in `channel`, at each slot of `cron` in `time_zone`;
    `next_at` is its next one. `last_runs` are the ids of the runs that were started last, at
    `last_at`; `skipped` counts the slots since then at which they had not ended. `reason` says why
    the last slot started nothing, or why the schedule is paused, `unblock` what to do about that,
    and `obstacle` why a slot that is due has to wait.
    """

    __tablename__: ClassVar[Any] = "flows"
    __table_args__ = (
        Index(
            "ix_flows_live",
            "team",
            "name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    name: str
    person: str
    channel: str
    steps: list[dict[str, Any]] = Field(sa_type=JSON)
    asked_at: datetime = Field(sa_type=Moment)

    scheduler: str | None = None
    cron: str = ""
    time_zone: str = ""
    next_at: datetime | None = Field(default=None, sa_type=Moment)

    phase: str = FlowPhase.SAVED
    last_runs: list[str] = Field(default_factory=list, sa_type=JSON)
    last_at: datetime | None = Field(default=None, sa_type=Moment)
    skipped: int = 0
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not been deleted."""
        return self.ended_at is None

    @property
    def is_cleared(self) -> bool:
        """Whether its schedule has nothing to do."""
        return self.phase != FlowPhase.SCHEDULED

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, FLOW, self.id)

    def schedule_options(self, usual_zone: str | None) -> str:
        """The options of its schedule; without `--zone`, `usual_zone` is meant."""
        zone = "" if self.time_zone == usual_zone else f" --zone {self.time_zone}"
        return f'--cron "{self.cron}"{zone}'
