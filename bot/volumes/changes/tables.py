"""Rows of changes of volumes."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject
from bot.volumes.resources import PoolPlace, VolumePlace, same_place, subscription_of

CHANGE = "volume_change"
LANE = "arm"


class IdChange(NamedTuple):
    """The id of a volume in Azure before and after a move."""

    old: str
    new: str


class ChangeKind(StrEnum):
    """What is changed: the pool that a volume is in, or its throughput there."""

    LEVEL = "level"
    THROUGHPUT = "throughput"


class ChangePhase(StrEnum):
    """The phase of a change; from DONE on it has ended."""

    CHECKING = "checking"
    ASKED = "asked"
    APPROVED = "approved"
    WORKING = "working"
    HELD = "held"
    DONE = "done"
    RETURNED = "returned"
    FAILED = "failed"
    REFUSED = "refused"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Direction(StrEnum):
    """The direction of a change: there, back at its end, or undoing a failed start."""

    THERE = "there"
    BACK = "back"
    UNDO = "undo"


class VolumeChange(SQLModel, table=True):
    """A change of a volume's throughput or pool, and its revert.

    The first block is the request, with what the requester was shown: `shown_growth_bytes` is the
    most that the target pool may grow by. The second is the plan, written once after the read from
    Azure: pools by their names, in one account. The third is its progress. `direction` and
    `position` are the current act; `is_begun` says that its request may have been sent, `operation`
    is the URL of the operation in Azure, `is_confirming` says that Azure reported success,
    `resize_to` is the new size of a pool. `grown_from` and `shrunk_from` are the sizes of the
    target and the source pool before they were changed, while they are. `went_up_at` is when the
    volume was seen on a higher level. If `is_trident`, Trident's record is updated after each move
    by the repair of `repair_id`. At its end the change is kept, at most until `kept_until`, for
    what `kept_for` names.

    A boost is for a subject that fills the volume, and is reverted when that releases it: of
    `boosted_kind` and `boosted_id`, named `boosted_name`. What it sets is determined by its plan.
    """

    __tablename__: ClassVar[Any] = "volume_changes"
    __table_args__ = (
        Index(
            "ix_volume_changes_live",
            "cluster",
            "pv_name",
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
    pv_name: str
    kind: str
    wanted_level: str = ""
    wanted_pool: str = ""
    wanted_mibps: float | None = None
    is_shrinking: bool = False
    duration_seconds: int | None = None
    reason: str = ""
    boosted_kind: str = Field(default="", sa_column_kwargs={"server_default": ""})
    boosted_id: str = Field(default="", sa_column_kwargs={"server_default": ""})
    boosted_name: str = Field(default="", sa_column_kwargs={"server_default": ""})
    shown_growth_bytes: int = Field(default=0, sa_type=BigInteger)
    asked_at: datetime = Field(sa_type=Moment)

    resource_group: str = ""
    account: str = ""
    volume_name: str = ""
    file_system: str = Field(default="", index=True)
    size_bytes: int = Field(default=0, sa_type=BigInteger)
    source_pool: str = ""
    source_level: str = ""
    source_qos: str = ""
    target_pool: str = ""
    target_pool_id: str = ""
    source_pool_id: str = ""
    target_level: str = ""
    mibps_before: float | None = None
    mibps_after: float | None = None
    grow_to: int | None = Field(default=None, sa_type=BigInteger)
    grow_by: int = Field(default=0, sa_type=BigInteger)
    shrink_to: int | None = Field(default=None, sa_type=BigInteger)
    cost_delta: float | None = 0.0
    needs_approval: bool = False
    is_trident: bool = False

    phase: str = ChangePhase.CHECKING
    since: datetime = Field(sa_type=Moment)
    direction: str = Field(default=Direction.THERE, sa_column_kwargs={"name": "leg"})
    position: int = 0
    is_begun: bool = False
    begun_at: datetime | None = Field(default=None, sa_type=Moment)
    tries: int = 0
    operation: str = ""
    repair_id: str | None = None
    is_confirming: bool = False
    resize_to: int | None = Field(default=None, sa_type=BigInteger)
    grown_from: int | None = Field(default=None, sa_type=BigInteger)
    shrunk_from: int | None = Field(default=None, sa_type=BigInteger)
    mibps_seen: float | None = None
    went_up_at: datetime | None = Field(default=None, sa_type=Moment)
    ends_at: datetime | None = Field(default=None, sa_type=Moment)
    returned_by: str | None = None
    kept_for: str = Field(default="", sa_column_kwargs={"server_default": ""})
    kept_until: datetime | None = Field(default=None, sa_type=Moment)
    not_before: datetime | None = Field(default=None, sa_type=Moment)
    trouble: str = ""
    remains: str = ""
    outcome: str = ""
    hint: str = ""
    is_late: bool = False
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, CHANGE, self.id)

    @property
    def boosted(self) -> Subject | None:
        """The subject that it boosts; None if it is not a boost."""
        if not self.boosted_id:
            return None
        return Subject(self.workspace_id, self.boosted_kind, self.boosted_id)

    @property
    def number(self) -> str:
        """The short id that people see."""
        return self.id[-6:]

    @property
    def subscription(self) -> str:
        """The subscription of its account; empty before the plan."""
        return subscription_of(self.source_pool_id)

    def pool(self, name: str) -> PoolPlace:
        """The place of a pool of its account."""
        return PoolPlace(self.subscription, self.resource_group, self.account, name)

    def uses(self, place: PoolPlace) -> bool:
        """Whether it changes a pool, or a volume in it; before the plan only the name is known."""
        names = {self.source_pool, self.target_pool, self.wanted_pool} - {""}
        if not self.source_pool_id:
            return place.pool.lower() in {each.lower() for each in names}
        return any(same_place(self.pool(each), place) for each in names)

    def ids(self, *, is_back: bool) -> IdChange:
        """The volume's ids before and after the move there, or the move back."""
        there = (self.source_pool_id, self.target_pool_id)
        before, after = there[::-1] if is_back else there
        name = self.volume_name
        return IdChange(f"{before}/volumes/{name}", f"{after}/volumes/{name}")

    def volume(self, pool: str) -> VolumePlace:
        """The place of the volume in a pool of its account."""
        return VolumePlace(*self.pool(pool), self.volume_name)
