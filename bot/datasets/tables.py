"""The tables of datasets, versions and pushes: what was requested, and what was last observed."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, false, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

VERSION = "dataset-version"
DATASET = "dataset"
PUSH = "dataset-push"


class VersionPhase(StrEnum):
    """How far the survey of a version is; the last five are ends."""

    ASKED = "asked"
    STARTING = "starting"
    LISTING = "listing"
    COPYING = "copying"
    READY = "ready"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REMOVED = "removed"
    FAILED = "failed"


ENDS = frozenset(
    {
        VersionPhase.READY,
        VersionPhase.UNCHANGED,
        VersionPhase.CHANGED,
        VersionPhase.REMOVED,
        VersionPhase.FAILED,
    }
)


class CopyState(StrEnum):
    """Whether a version's objects have copies; the bucket may make them unnecessary."""

    NONE = ""
    WANTED = "wanted"
    MADE = "made"
    NOT_NEEDED = "not_needed"
    REMOVED = "removed"


class Dataset(SQLModel, table=True):
    """A dataset: a prefix in an object store, and who may use it.

    `team` owns it. `readers` are other teams that may use it; if it `is_open`, all teams may.
    `source` is `s3://bucket/prefix/` in `store`. Its caches stay `keep_seconds` after their last
    use: 0 means for ever, None as long as the settings say. A removed dataset keeps its row.
    """

    __tablename__: ClassVar[Any] = "datasets"
    __table_args__ = (
        Index(
            "ix_datasets_name",
            "name",
            unique=True,
            postgresql_where=text("removed_at IS NULL"),
            sqlite_where=text("removed_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    name: str
    team: str
    readers: list[str] = Field(default_factory=list, sa_type=JSON)
    is_open: bool = False
    store: str
    source: str
    description: str = ""
    keep_seconds: int | None = None
    person: str
    added_at: datetime = Field(sa_type=Moment)
    removed_at: datetime | None = Field(default=None, sa_type=Moment)

    def is_for(self, team: str) -> bool:
        """Whether a team may use it."""
        return self.is_open or team == self.team or team in self.readers


class Version(SQLModel, table=True):
    """A version of a dataset: what a survey found in its source, under a fixed name.

    The service writes the first block once, the controller the rest. The survey writes the
    manifest to `manifest` in the store `manifest_store`. A ready version never changes: `digest`,
    `objects` and `size_bytes` describe its content, `problems` counts the keys that cannot be
    files. A version with the content of another one is `unchanged` and names it in `same_as`; its
    own name is free again. `parents` are the ids of the versions it was derived from: those read
    by the runs that produced it, and the previous one. `made_by` names these runs. `reason` says
    why it failed, `unblock` what to do, `keys` which objects are affected, and `obstacle` what
    keeps its pod from starting. It `is_cleared` once its Job is gone.

    A version with a `selection` has files of another version of the dataset, `selected_from`. It is
    never taken for the newest one.

    A version that `is_refresh` only checks whether the source has changed. It has no name and no
    card, and never becomes ready; with new content it ends as `changed`.

    `copies` is the folder of `manifest_store` where copies of its objects are, or will be, and
    `copy_state` whether fills may read them. Of these, `copied_files` were new, and verified as
    `verified_by` says. `copy_price` is the monthly price of a GiB there, if known. A row that
    `is_sweep` is no version: its Job deletes the copies that only the version of its name needed,
    or all of a removed dataset, then without a name. `copied_files` are then those that it deleted,
    `objects` those that stay.
    """

    __tablename__: ClassVar[Any] = "dataset_versions"
    __table_args__ = (
        Index(
            "ix_dataset_versions_live",
            "dataset_id",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index(
            "ix_dataset_versions_name",
            "dataset_id",
            "name",
            unique=True,
            postgresql_where=text("phase = 'ready'"),
            sqlite_where=text("phase = 'ready'"),
        ),
        Index(
            "ix_dataset_versions_digest",
            "dataset_id",
            "digest",
            unique=True,
            postgresql_where=text("phase = 'ready' AND selected_from = ''"),
            sqlite_where=text("phase = 'ready' AND selected_from = ''"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    dataset_id: str = Field(foreign_key="datasets.id", index=True)
    dataset: str
    name: str
    note: str = ""
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    job_name: str
    store: str
    source: str
    manifest_store: str
    manifest: str
    parents: list[str] = Field(default_factory=list, sa_type=JSON)
    made_by: list[str] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    selected_from: str = Field(default="", sa_column_kwargs={"server_default": ""})
    selection: dict[str, Any] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    asked_at: datetime = Field(sa_type=Moment)

    phase: str = VersionPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    job_uid: str | None = None
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    read_at: datetime | None = Field(default=None, sa_type=Moment)
    objects_seen: int = Field(default=0, sa_type=BigInteger)
    bytes_seen: int = Field(default=0, sa_type=BigInteger)
    digest: str | None = None
    objects: int | None = Field(default=None, sa_type=BigInteger)
    size_bytes: int | None = Field(default=None, sa_type=BigInteger)
    problems: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})
    same_as: str | None = None
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    keys: list[str] = Field(default_factory=list, sa_type=JSON)
    trouble: str = ""
    is_late: bool = False
    is_cleared: bool = False
    is_refresh: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    is_sweep: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    copies: str = Field(default="", sa_column_kwargs={"server_default": ""})
    copy_state: str = Field(default=CopyState.NONE, sa_column_kwargs={"server_default": ""})
    copy_price: float | None = None
    copied_files: int = Field(
        default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"}
    )
    copied_bytes: int = Field(
        default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"}
    )
    verified_by: dict[str, int] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    verified_bytes: dict[str, int] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )

    @property
    def is_live(self) -> bool:
        """Whether its survey has not ended."""
        return self.ended_at is None

    @property
    def reference(self) -> str:
        """The name that people use for it: `chest-xray@v3`."""
        return f"{self.dataset}@{self.name}"

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, VERSION, self.id)


class PushPhase(StrEnum):
    """How far a push is; the last two are ends."""

    ASKED = "asked"
    STARTING = "starting"
    COPYING = "copying"
    PUSHED = "pushed"
    FAILED = "failed"


PUSH_ENDS = frozenset({PushPhase.PUSHED, PushPhase.FAILED})


class Push(SQLModel, table=True):
    """A folder of a team's PVC, or of a person's computer, that is copied into an object store.

    The service writes the first block once, and `stopped_by` when a person stops the push; the
    controller writes the rest. `claim_name` is the team's PVC in `claim_namespace`. The Job runs in
    `namespace`, which mounts the PVC through the share `share_id`. `dataset` is the dataset of
    which the target becomes a version, named `version` or the next free name; empty for no version.

    A push from a `snapshot` has no share. Instead a PVC with the name of the Job is created from it
    in `namespace`, on the volume `volume_name`. `claim_name` and `claim_uid` are then the
    snapshot's PVC, if known, and `snapshot_at` is its creation time. `retained` is a volume that
    its class retains after the push.

    A push from a computer has a `box` instead, a folder of the bot in `box_store`, where the Job
    puts the grant and answers the computer. The grant itself is in no row. If the files are those
    of a `message` in Slack, its `ts`, the bot takes the place of the computer.

    `others` counts objects below the target that are not files of the folder, `links` symbolic
    links, which are skipped. `version_id` is the recorded version; `unrecorded` says why there is
    none. It `is_cleared` once all its objects are deleted.
    """

    __tablename__: ClassVar[Any] = "dataset_pushes"
    __table_args__ = (
        Index(
            "ix_dataset_pushes_live",
            "target",
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
    claim_namespace: str
    claim_name: str
    claim_uid: str
    storage_class: str
    capacity_bytes: int = Field(sa_type=BigInteger)
    snapshot: str = Field(default="", sa_column_kwargs={"server_default": ""})
    snapshot_uid: str = Field(default="", sa_column_kwargs={"server_default": ""})
    snapshot_at: datetime | None = Field(default=None, sa_type=Moment)
    folder: str
    store: str
    target: str
    is_overwriting: bool = False
    dataset: str = ""
    version: str | None = None
    note: str = ""
    share_id: str
    box: str = Field(default="", sa_column_kwargs={"server_default": ""})
    box_store: str = Field(default="", sa_column_kwargs={"server_default": ""})
    message: str = Field(default="", sa_column_kwargs={"server_default": ""})
    job_name: str
    asked_at: datetime = Field(sa_type=Moment)

    stopped_by: str | None = None

    phase: str = PushPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    job_uid: str | None = None
    volume_name: str = Field(default="", sa_column_kwargs={"server_default": ""})
    retained: str = Field(default="", sa_column_kwargs={"server_default": ""})
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    stage: str = ""
    files_total: int | None = Field(default=None, sa_type=BigInteger)
    bytes_total: int | None = Field(default=None, sa_type=BigInteger)
    files_done: int = Field(default=0, sa_type=BigInteger)
    bytes_done: int = Field(default=0, sa_type=BigInteger)
    bytes_per_second: float | None = None
    copied_files: int = Field(default=0, sa_type=BigInteger)
    copied_bytes: int = Field(default=0, sa_type=BigInteger)
    verified_by: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    verified_bytes: dict[str, int] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    links: int = Field(default=0, sa_type=BigInteger)
    others: int = Field(default=0, sa_type=BigInteger)
    version_id: str | None = None
    unrecorded: str = ""
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    keys: list[str] = Field(default_factory=list, sa_type=JSON)
    trouble: str = ""
    is_late: bool = False
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_upload(self) -> bool:
        """Whether its files come by presigned requests, from a computer or from Slack."""
        return self.box != ""

    @property
    def is_drop(self) -> bool:
        """Whether its files are those of a Slack message."""
        return self.message != ""

    @property
    def takes_files(self) -> bool:
        """Whether its worker waits for files."""
        is_going = self.phase == PushPhase.COPYING and self.stopped_by is None
        return self.is_upload and is_going and self.stage != ""

    @property
    def source(self) -> str:
        """What is pushed, as people write it: `results:/run-7`, `snapshot:monday:/run-7`."""
        if self.is_drop:
            return "Files from Slack"
        if self.is_upload:
            return "Local folder"
        return spelled(self.claim_name, self.snapshot, self.folder)

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, PUSH, self.id)


def spelled(claim: str, snapshot: str, folder: str) -> str:
    """A folder of a PVC or of a snapshot, as people write it."""
    return f"snapshot:{snapshot}:{folder}" if snapshot else f"{claim}:{folder}"
