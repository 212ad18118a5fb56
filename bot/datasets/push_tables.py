"""The table of pushes: source and target, progress, and result."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

PUSH = "dataset-push"


class PushPhase(StrEnum):
    """How far a push is; the last two are ends."""

    ASKED = "asked"
    STARTING = "starting"
    COPYING = "copying"
    PUSHED = "pushed"
    FAILED = "failed"


ENDS = frozenset({PushPhase.PUSHED, PushPhase.FAILED})


class Push(SQLModel, table=True):
    """A folder of a team's PVC that is copied into an object store.

    The service writes the first block once, and `stopped_by` when a person stops the push; the
    controller writes the rest. `claim_name` is the team's PVC in `claim_namespace`. The Job runs in
    `namespace`, which mounts the PVC through the share `share_id`. `dataset` is the dataset of
    which the target becomes a version, named `version` or the next free name; empty for no version.

    A push from a `snapshot` has no share. Instead a PVC with the name of the Job is created from it
    in `namespace`, on the volume `volume_name`. `claim_name` and `claim_uid` are then the
    snapshot's PVC, if known, and `snapshot_at` is its creation time. `retained` is a volume that
    its class retains after the push.

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
    def source(self) -> str:
        """What is pushed, as people write it: `results:/run-7`, `snapshot:monday:/run-7`."""
        return spelled(self.claim_name, self.snapshot, self.folder)

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, PUSH, self.id)


def spelled(claim: str, snapshot: str, folder: str) -> str:
    """A folder of a PVC or of a snapshot, as people write it."""
    return f"snapshot:{snapshot}:{folder}" if snapshot else f"{claim}:{folder}"
