"""The tables of quota overrides, and of the quotas that they change."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Dialect, String, UniqueConstraint
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel
from typing_extensions import override

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

OVERRIDE = "override"
QUOTA = "quota"


class Exact(TypeDecorator[Decimal]):
    """An exact number, kept as text because SQLite has none."""

    impl = String(40)
    cache_ok = True

    @override
    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        return None if value is None else f"{value:f}"

    @override
    def process_result_value(self, value: Any | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


class Mode(StrEnum):
    """What an override changes in the ClusterQueue."""

    NOMINAL_QUOTA = "nominal_quota"
    BORROWING_LIMIT = "borrowing_limit"
    TRANSFER = "transfer"
    BASE = "base"


class OverridePhase(StrEnum):
    """The phase of an override; it takes effect while APPROVED, and is undone while ENDING."""

    ASKED = "asked"
    APPROVED = "approved"
    ACTIVE = "active"
    ENDING = "ending"
    ENDED = "ended"
    DENIED = "denied"
    EXPIRED = "expired"
    REVOKED = "revoked"
    FAILED = "failed"


LIVE = frozenset(
    {OverridePhase.ASKED, OverridePhase.APPROVED, OverridePhase.ACTIVE, OverridePhase.ENDING}
)


class Override(SQLModel, table=True):
    """A requested change of a team's quota.

    `amount` is a signed change in GPUs, and the new total where `mode` is "base". `shown_from`
    is the quota that the request was made against. `starts_at` and `ends_at` are set when it
    takes effect; a change of the base has no end.
    """

    __tablename__: ClassVar[Any] = "overrides"

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    cluster: str
    team: str = Field(index=True)
    queue: str
    flavor: str
    resource: str
    mode: str
    amount: Decimal = Field(sa_type=Exact)
    shown_from: Decimal = Field(sa_type=Exact)
    donor_team: str | None = None
    donor_queue: str | None = None
    duration_seconds: int | None = None
    reason: str
    requester: str
    channel: str
    asked_at: datetime = Field(sa_type=Moment)
    phase: str = Field(default=OverridePhase.ASKED, index=True)
    starts_at: datetime | None = Field(default=None, sa_type=Moment)
    ends_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    noticed_at: datetime | None = Field(default=None, sa_type=Moment)
    revoked_at: datetime | None = Field(default=None, sa_type=Moment)
    revoked_by: str | None = None
    note: str = ""
    trouble: str = ""


class ManagedQuota(SQLModel, table=True):
    """One quota of one queue, kept up to date by its controller while overrides change it.

    `baseline` is its value without them, None while no override changes it. `last_written` is the
    last value known to be Quartermaster's, `writing` the value of a patch in progress.
    `external_value` is any other value; nothing is written then until an admin decides. `epoch`
    counts how often Quartermaster has stopped managing the quota.

    Columns keep the names of earlier releases, which run beside this one during an update.
    """

    __tablename__: ClassVar[Any] = "managed_quotas"
    __table_args__ = (UniqueConstraint("cluster", "queue", "flavor", "resource", "field"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    cluster: str
    queue: str
    flavor: str
    resource: str
    field: str
    baseline: Decimal | None = Field(default=None, sa_type=Exact)
    last_written: Decimal | None = Field(default=None, sa_type=Exact)
    writing: Decimal | None = Field(default=None, sa_type=Exact)
    external_value: Decimal | None = Field(
        default=None, sa_type=Exact, sa_column_kwargs={"name": "stranger"}
    )
    stopped_because: str = ""
    trouble: str = ""
    epoch: int = 0


class QuotaAdjustment(SQLModel, table=True):
    """What one override does to one managed quota.

    Adjustments are applied in the order of `position`, and withdrawn in reverse order. The
    override's controller sets `is_applied`; the quota's controller sets `is_settled` once the queue
    has followed.
    """

    __tablename__: ClassVar[Any] = "override_legs"
    __table_args__ = (UniqueConstraint("override_id", "position"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    override_id: str = Field(foreign_key="overrides.id")
    quota_id: str = Field(foreign_key="managed_quotas.id", index=True)
    position: int
    delta: Decimal = Field(sa_type=Exact)
    is_applied: bool = Field(default=False, sa_column_kwargs={"name": "is_on"})
    is_settled: bool = True


def subject_of(row: Override) -> Subject:
    """The subject of messages about this override."""
    return Subject(row.workspace_id, OVERRIDE, row.id)
