"""Caches as rows: copies of a version on fast storage, and their shares."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.datasets import subfolders
from bot.slack.messages import Subject

CACHE = "dataset-cache"
SHARE = "dataset-share"
SWEEP = "dataset-sweep"
ORPHAN = "dataset-orphan"


class CachePhase(StrEnum):
    """The phase of a cache; the last two are final."""

    ASKED = "asked"
    STARTING = "starting"
    FILLING = "filling"
    ARRANGING = "arranging"
    READY = "ready"
    EVICTING = "evicting"
    EVICTED = "evicted"
    FAILED = "failed"


ENDS = frozenset({CachePhase.EVICTED, CachePhase.FAILED})


class CacheIntent(StrEnum):
    """The desired state of a cache."""

    READY = "ready"
    EVICT = "evict"


class Cache(SQLModel, table=True):
    """A copy of one version of a dataset, or of some folders of it, on a PVC of its own.

    The first block is written once, the second, from `wanted` on, by services and jobs, the rest
    by the controller. `teams` may use it besides its own. It expires after it was unused for
    `keep_seconds`; never if that is None. A `layout` rearranges its files after the copy. `used_at`
    is when it was last requested, extended or touched; `seen_used_at` when a pod was last seen to
    mount it, `used_by` whose pod that was. `expires_after` postpones the expiry, `noticed_at` is
    when its eviction was announced, `evict_why` says why it is evicted. `boost_by` requested a
    boost of its volume during the fill, for which a pool may grow by `boost_growth_bytes`;
    `boost_id` is the change that carries it out.

    `part` has the folders that it holds with commas between them, and is empty if it holds the
    whole version. Its digest and sizes are those of what it holds.

    `named_cluster` is its cluster as messages name it, empty while all caches are in one.

    `files_done` and `bytes_done` are what its fill has verified. It `is_cleared` once none of its
    objects is left, including its volume; `freed_bytes` is what that freed, if known. An announced
    cache is evicted at `leaves_at`; `called_off` says why an eviction was cancelled.
    """

    __tablename__: ClassVar[Any] = "dataset_caches"
    __table_args__ = (
        Index(
            "ix_dataset_caches_live",
            "version_id",
            "cluster",
            "storage_class",
            "part",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    version_id: str = Field(foreign_key="dataset_versions.id", index=True)
    dataset_id: str = Field(foreign_key="datasets.id", index=True)
    reference: str
    digest: str
    objects: int = Field(sa_type=BigInteger)
    size_bytes: int = Field(sa_type=BigInteger)
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    storage_class: str
    capacity_bytes: int = Field(sa_type=BigInteger)
    claim_name: str
    job_name: str
    layout: str = ""
    part: str = Field(default="", sa_column_kwargs={"server_default": ""})
    named_cluster: str = Field(default="", sa_column_kwargs={"server_default": ""})
    asked_at: datetime = Field(sa_type=Moment)

    wanted: str = CacheIntent.READY
    teams: list[str] = Field(default_factory=list, sa_type=JSON)
    keep_seconds: int | None = None
    used_at: datetime = Field(sa_type=Moment)
    expires_after: datetime | None = Field(default=None, sa_type=Moment)
    noticed_at: datetime | None = Field(default=None, sa_type=Moment)
    leaves_at: datetime | None = Field(default=None, sa_type=Moment)
    called_off: str | None = None
    evict_by: str | None = None
    evict_at: datetime | None = Field(default=None, sa_type=Moment)
    evict_why: str = ""
    boost_by: str | None = None
    boost_growth_bytes: int = Field(
        default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"}
    )

    phase: str = CachePhase.ASKED
    since: datetime = Field(sa_type=Moment)
    claim_uid: str | None = None
    volume_name: str = ""
    boost_id: str | None = None
    job_uid: str | None = None
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    ready_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    read_at: datetime | None = Field(default=None, sa_type=Moment)
    stage: str = ""
    files_done: int = Field(default=0, sa_type=BigInteger)
    bytes_done: int = Field(default=0, sa_type=BigInteger)
    bytes_per_second: float | None = None
    verified_by: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    verified_bytes: dict[str, int] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    seen_used_at: datetime | None = Field(default=None, sa_type=Moment)
    used_by: str = ""
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    keys: list[str] = Field(default_factory=list, sa_type=JSON)
    trouble: str = ""
    freed_bytes: int | None = Field(default=None, sa_type=BigInteger)
    is_late: bool = False
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it exists or is requested, and has not ended."""
        return self.ended_at is None

    @property
    def is_ready(self) -> bool:
        """Whether runs can mount it and it is not marked for eviction."""
        return self.phase == CachePhase.READY and self.wanted == CacheIntent.READY

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that it holds; empty if it holds the whole version."""
        return subfolders.read(self.part)

    def has(self, folders: Sequence[str]) -> bool:
        """Whether it holds these folders where the version has them; without any, all of it.

        A layout may have moved them.
        """
        if not folders:
            return not self.part
        return not self.layout and (not self.part or subfolders.holds(self.folders, folders))

    @property
    def place(self) -> str:
        """Its storage class, with the cluster if there are several: `fast of cluster east`."""
        of = f" of cluster {self.named_cluster}" if self.named_cluster else ""
        return f"{self.storage_class}{of}"

    @property
    def argument(self) -> str:
        """How commands name it: `X@v3`, with `--cluster east` if there are several clusters."""
        option = f" --cluster {self.named_cluster}" if self.named_cluster else ""
        return f"{shlex.quote(self.reference)}{option}"

    @property
    def last_used_at(self) -> datetime:
        """When it was last used, touched or requested."""
        return max(self.used_at, self.seen_used_at or self.used_at)

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, CACHE, self.id)


class SharePhase(StrEnum):
    """The phase of a share; the last two are final."""

    ASKED = "asked"
    READY = "ready"
    LEAVING = "leaving"
    GONE = "gone"
    FAILED = "failed"


class CacheShare(SQLModel, table=True):
    """A PVC in the namespace of a team, on the same volume as a cache.

    `form` is how it is shared: `same` if the namespace is the cache's own, `trident` by a volume
    reference, `static` by a PersistentVolume of the same handle. `volume_name` and the uids are of
    objects created for it. Without a cache it shares a team's PVC with the namespace of datasets
    during a push.
    """

    __tablename__: ClassVar[Any] = "dataset_shares"
    __table_args__ = (
        Index(
            "ix_dataset_shares_live",
            "cache_id",
            "namespace",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    cache_id: str | None = Field(default=None, foreign_key="dataset_caches.id", index=True)
    push_id: str | None = Field(default=None, index=True)
    cluster: str
    namespace: str
    claim_name: str
    asked_at: datetime = Field(sa_type=Moment)
    is_wanted: bool = True

    form: str = ""
    phase: str = SharePhase.ASKED
    since: datetime = Field(sa_type=Moment)
    claim_uid: str | None = None
    volume_name: str = ""
    volume_uid: str | None = None
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    trouble: str = ""

    @property
    def is_live(self) -> bool:
        """Whether it exists or is requested, and has not ended."""
        return self.ended_at is None


class Sweep(SQLModel, table=True):
    """When the caches of a cluster were last swept."""

    __tablename__: ClassVar[Any] = "dataset_sweeps"

    cluster: str = Field(primary_key=True)
    swept_at: datetime = Field(sa_type=Moment)


class Orphan(SQLModel, table=True):
    """A leftover object in a cluster or a cloud; deleted only when a person confirms.

    In a cluster it is one of our objects that no row needs. For others `why` is a sentence about
    how it was recognised. `wanted_by` confirmed its deletion; `trouble` says why that failed. If
    there is a `command`, an admin has to run it, and the bot deletes nothing.
    """

    __tablename__: ClassVar[Any] = "dataset_orphans"
    __table_args__ = (
        Index(
            "ix_dataset_orphans_live",
            "cluster",
            "uid",
            unique=True,
            postgresql_where=text("gone_at IS NULL"),
            sqlite_where=text("gone_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    storage_class: str = ""
    size_bytes: int | None = Field(default=None, sa_type=BigInteger)
    monthly_price: float | None = None
    why: str = ""
    command: str = ""
    made_at: datetime | None = Field(default=None, sa_type=Moment)
    found_at: datetime = Field(sa_type=Moment)
    gone_at: datetime | None = Field(default=None, sa_type=Moment)
    wanted_by: str | None = None
    wanted_at: datetime | None = Field(default=None, sa_type=Moment)
    trouble: str = ""

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, ORPHAN, self.id)


class VersionUse(SQLModel, table=True):
    """A use of a version: the subject that read it, and its name for people."""

    __tablename__: ClassVar[Any] = "dataset_uses"

    version_id: str = Field(foreign_key="dataset_versions.id", primary_key=True)
    subject_kind: str = Field(primary_key=True)
    subject_id: str = Field(primary_key=True)
    who: str
    at: datetime = Field(sa_type=Moment)
