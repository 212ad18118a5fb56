"""The table of sweeps: what each submits, and how far it is."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject
from bot.training.tables import SWEEP


class SweepPhase(StrEnum):
    """The phase of a sweep: STOPPING submits no more, the last two are ends."""

    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"
    STOPPED = "stopped"


class Sweep(SQLModel, table=True):
    """Runs of one command with different values, shown by one card.

    `spec` is that of its runs, with placeholders; `parameters` are names with their values. The
    runs name the sweep in their specs, so that no row is needed for a cell. At most `at_most` of
    them are live at a time. `best` is `max` or `min`: which value of the result `metric` is best.
    With the rule `stop_early` the worst cells are stopped early: from the step or epoch `warm_up`
    on, compared with `min_cells` others at least. Of a sweep that names compute templates, `places`
    are those where each run may wait, with its spec there (`templates.candidates`), and `approved`
    the costs above limits that were approved.

    The first block is written once. `reason` says why it was stopped, `unblock` what to do about
    that, and `obstacle` why it cannot submit its next cell now. `early_stops` has for each run that
    the rule stopped where that was, its value and the median; `unjudged` are running cells that the
    rule cannot judge, because they have no series.
    """

    __tablename__: ClassVar[Any] = "sweeps"
    __table_args__ = (
        Index(
            "ix_sweeps_live",
            "team",
            "name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index("ix_sweeps_team_name", "team", "name", "id"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    name: str
    person: str
    channel: str
    cluster: str
    spec: dict[str, Any] = Field(sa_type=JSON)
    parameters: list[Any] = Field(sa_type=JSON)
    at_most: int | None = None
    metric: str = ""
    best: str = ""
    stop_early: str = Field(default="", sa_column_kwargs={"server_default": ""})
    warm_up: int | None = None
    min_cells: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    places: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    approved: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    asked_at: datetime = Field(sa_type=Moment)

    stop_by: str | None = None
    stop_at: datetime | None = Field(default=None, sa_type=Moment)

    phase: str = SweepPhase.RUNNING
    since: datetime = Field(sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    early_stops: dict[str, dict[str, str]] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    unjudged: list[str] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do."""
        return not self.is_live

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, SWEEP, self.id)
