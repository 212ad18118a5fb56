"""Repairs of what Trident keeps of moved volumes, as rows."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

REPAIR = "anf-repair"


class Phase(StrEnum):
    """How far a repair is; those from DONE on are ends."""

    ASKED = "asked"
    PATCHING = "patching"
    RESTARTING = "restarting"
    ROLLING = "rolling"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Repair(SQLModel, table=True):
    """Telling Trident where a volume is, as somebody was shown it.

    `old_id` is what Trident's record says, `new_id` where Azure has the volume. Both objects are in
    `trident_namespace`: the record has the name of the PV. `restart_at` is what the pods of the
    controller are marked with, `rounds` counts how often the record was to be written.
    `stands` says what is so after a failure. `then_kind`, `then_id` and `then_lane` are of what
    waits for its end.
    """

    __tablename__: ClassVar[Any] = "anf_repairs"
    __table_args__ = (
        Index(
            "ix_anf_repairs_live",
            "cluster",
            "volume_name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    claim_name: str
    volume_name: str
    old_id: str
    new_id: str
    trident_namespace: str
    deployment: str
    asked_at: datetime = Field(sa_type=Moment)

    phase: str = Phase.ASKED
    since: datetime = Field(sa_type=Moment)
    restart_at: datetime | None = Field(default=None, sa_type=Moment)
    rounds: int = 0
    trouble: str = ""
    reason: str = ""
    unblock: str = ""
    withdrawn_by: str | None = None
    stands: str = ""
    then_kind: str = ""
    then_id: str = ""
    then_lane: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_waiting(self) -> bool:
        """Whether nothing was begun, so that it can be withdrawn."""
        return self.phase == Phase.ASKED

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, REPAIR, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return f"cluster:{self.cluster}"
