"""The rows of teams that were created from Slack, and of changes that create or remove one."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

CHANGE = "team-change"
TOPIC = "slack-teams"
"""The topic of transactions that add or remove a team of the settings."""


class Verb(StrEnum):
    """What a change does with its team."""

    CREATE = "create"
    REMOVE = "remove"


class ChangePhase(StrEnum):
    """The phase of a change; from DONE on it has ended."""

    CHECKING = "checking"
    ASKED = "asked"
    MAKING = "making"
    CLOSING = "closing"
    REMOVING = "removing"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class SlackTeam(SQLModel, table=True):
    """A team that was created from Slack; it is one of the settings while its row is there.

    `said` is what quartermaster.yaml would say of it, `objects` what was made for it.
    """

    __tablename__: ClassVar[Any] = "slack_teams"

    workspace_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    said: dict[str, Any] = Field(sa_type=JSON)
    objects: list[dict[str, Any]] = Field(sa_type=JSON)
    change_id: str
    created_at: datetime = Field(sa_type=Moment)


class TeamChange(SQLModel, table=True):
    """A team that is created or removed.

    The first block is written once, `withdrawn_by` by services, the rest by the controller. `said`
    is what quartermaster.yaml would say of the team. `objects` are what is made or removed, in the
    order in which they are made; with `checks`, a sentence for each, they are known once the change
    was checked. `obstacle` is what delays it, as a sentence.
    """

    __tablename__: ClassVar[Any] = "team_changes"
    __table_args__ = (
        Index(
            "ix_team_changes_live",
            "workspace_id",
            "team",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    verb: str
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    queue: str
    gpus: int = 0
    gpu_type: str = ""
    above: str = ""
    interactive_gpus: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    interactive_type: str = Field(default="", sa_column_kwargs={"server_default": ""})
    said: dict[str, Any] = Field(sa_type=JSON)
    asked_at: datetime = Field(sa_type=Moment)

    withdrawn_by: str | None = None

    objects: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    checks: list[str] = Field(default_factory=list, sa_type=JSON)
    phase: str = ChangePhase.CHECKING
    since: datetime = Field(sa_type=Moment)
    trouble: str = ""
    obstacle: str = ""
    reason: str = ""
    unblock: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def can_be_withdrawn(self) -> bool:
        """Whether it can be withdrawn: before its approval, and while a team is being created."""
        is_begun = self.phase == ChangePhase.MAKING and self.withdrawn_by is None
        return is_begun or self.phase in {ChangePhase.CHECKING, ChangePhase.ASKED}

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do: once it has ended."""
        return not self.is_live

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, CHANGE, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return cluster_lane(self.cluster)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown."""
        shown = [self.verb, self.team, self.cluster, self.gpus, self.said, self.objects]
        return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
