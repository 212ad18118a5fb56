"""The tables of training runs: the wanted and the last observed state of each."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, UniqueConstraint, false, text
from sqlmodel import Field, SQLModel

from bot import holds
from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

KIND = holds.RUN
REMOVAL = "removal"
FOLLOW = "log-follow"
SWEEP = "sweep"
KEPT_LINES = 200


class RunPhase(StrEnum):
    """The phase of a run; the last six are ends."""

    ASKED = "asked"
    AFTER = "waiting-for-runs"
    DATA = "waiting-for-data"
    PENDING = "pending"
    PREEMPTED = "preempted"
    CREATING = "creating"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    VANISHED = "vanished"
    UNMANAGED = "unmanaged"
    EXPIRED = "expired"


WAITING = frozenset({RunPhase.PENDING, RunPhase.PREEMPTED})
NOT_ADMITTED = WAITING | {RunPhase.ASKED, RunPhase.AFTER, RunPhase.DATA}
BAD_ENDS = frozenset({RunPhase.FAILED, RunPhase.VANISHED, RunPhase.UNMANAGED})
GOOD_ENDS = frozenset({RunPhase.SUCCEEDED, RunPhase.EXPIRED})
ENDS = BAD_ENDS | GOOD_ENDS | {RunPhase.STOPPED}


class RunIntent(StrEnum):
    """The state that people want a run to have."""

    RUN = "run"
    STOP = "stop"


class Run(SQLModel, table=True):
    """One training run.

    The first block is written once, the second, from `wanted` on, by the service, the rest by the
    controller. `reason` says why it is in its phase, `unblock` what to do about that,
    `holders` who else uses GPUs, `starts_by` when it starts at the latest. `workload` names
    Kueue's object once there was one, `removing` is the end that the removal of its root leads
    to. `job_name` and `job_uid` are those of its root, a Job for most kinds; `is_furnished` once
    all objects beside it were seen. `nodes` are those on which its pods run, or ran last, by name;
    empty while nobody saw them; `ran_on` are all on which any ever ran, `flavor` is their sort and
    `image_id` what its image was found to be, both as the cluster calls it. `place` counts from 1,
    `gpus_ahead` are wanted by those before it, `polled_at` says when that was so. `until` is when
    a session ends by its time: the controller sets it each time one begins to run, the service
    moves it; `reminders` were given of it, the last one at `reminded_at`. Its time counts only
    while it runs: before this stretch it had run for `seconds_used`, and while it waits
    `seconds_left` are what it will have when it runs again.

    `links` are addresses that its log named, by the labels of `training.links`; `mlflow_url` is
    where people open it in MLflow, which the controller of exports writes; `epochs` are how
    long its epochs took by number of nodes, and where the current one stands (`records.epochs`).
    `series_lost` says what its metrics lack (`series.service`).

    The GPUs of a session did nothing since `idle_since`; its owner was told so at `warned_at`, and
    it is let be until `kept_until`. `gpus_busy` is the share of its time, in 0..1, in which
    anything ran on the GPUs of a run that has ended, found at `measured_at`; None is unknown.

    Of a run that can change its nodes: `scale_to` is how many people want, `size` how many its
    root asks for, of which `pods_running` run and `pods_waiting` have no place yet; the cluster
    refused `unscaled_to`, and `unscaled_why` says why. `again_on` is on how many nodes a run is
    started again once it has been stopped.

    Of a run that names compute templates: `candidates` are the places where it may wait, in order
    (`templates.candidates`), `candidate` counts from 0 where it is, and `moving_to` is set while
    its objects there are deleted because it moves on. `moves` are the places that it has left,
    each with the uid that its root had there.
    """

    __tablename__: ClassVar[Any] = "runs"
    __table_args__ = (
        UniqueConstraint("team", "name", "number"),
        Index(
            "ix_runs_live",
            "team",
            "name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index(
            "ix_runs_newest",
            "team",
            "id",
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index(
            "ix_runs_ended",
            "team",
            "ended_at",
            postgresql_where=text("ended_at IS NOT NULL"),
            sqlite_where=text("ended_at IS NOT NULL"),
        ),
        Index(
            "ix_runs_person_ended",
            "person",
            "ended_at",
            postgresql_where=text("ended_at IS NOT NULL"),
            sqlite_where=text("ended_at IS NOT NULL"),
        ),
        Index(
            "ix_runs_job_uid",
            "job_uid",
            postgresql_where=text("job_uid IS NOT NULL"),
            sqlite_where=text("job_uid IS NOT NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    name: str
    number: int
    person: str
    channel: str
    cluster: str
    namespace: str
    queue: str
    job_name: str
    spec: dict[str, Any] = Field(sa_type=JSON)
    candidates: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    asked_at: datetime = Field(sa_type=Moment)

    wanted: str = RunIntent.RUN
    stop_by: str | None = None
    stop_at: datetime | None = Field(default=None, sa_type=Moment)
    stop_why: str = ""
    scale_to: int | None = None
    again_on: int | None = None

    phase: str = RunPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    holders: str = ""
    starts_by: datetime | None = Field(default=None, sa_type=Moment)
    job_uid: str | None = None
    is_furnished: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    workload: str = ""
    made_at: datetime | None = Field(default=None, sa_type=Moment)
    admitted_at: datetime | None = Field(default=None, sa_type=Moment)
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    removing: str | None = None
    candidate: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    moving_to: int | None = None
    moves: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    obstacle: str = ""
    last_line: str = ""
    progress: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    results: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    links: dict[str, str] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    mlflow_url: str = Field(default="", sa_column_kwargs={"server_default": ""})
    epochs: dict[str, Any] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    series_lost: dict[str, Any] = Field(
        default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"}
    )
    read_at: datetime | None = Field(default=None, sa_type=Moment)
    admissions: int = 0
    preemptions: int = 0
    restarts: int = 0
    failure: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    nodes: list[str] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    ran_on: list[str] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    flavor: str = Field(default="", sa_column_kwargs={"server_default": ""})
    image_id: str = Field(default="", sa_column_kwargs={"server_default": ""})
    size: int | None = None
    pods_running: int | None = None
    pods_waiting: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    unscaled_to: int | None = None
    unscaled_why: str = Field(default="", sa_column_kwargs={"server_default": ""})
    place: int | None = None
    gpus_ahead: int | None = None
    polled_at: datetime | None = Field(default=None, sa_type=Moment)
    until: datetime | None = Field(default=None, sa_type=Moment)
    reminders: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    reminded_at: datetime | None = Field(default=None, sa_type=Moment)
    seconds_used: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    seconds_left: int | None = None
    idle_since: datetime | None = Field(default=None, sa_type=Moment)
    warned_at: datetime | None = Field(default=None, sa_type=Moment)
    kept_until: datetime | None = Field(default=None, sa_type=Moment)
    gpus_busy: float | None = None
    measured_at: datetime | None = Field(default=None, sa_type=Moment)
    is_late: bool = False
    trouble: str = ""

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def reference(self) -> str:
        """The reference of this run: `lane`, or `lane#2` from the second on."""
        return reference(self.name, self.number)

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, KIND, self.id)


class Span(SQLModel, table=True):
    """A period that a run spent in one phase, on a number of nodes.

    Each begins at the end of the last, the first one when the run was submitted.
    """

    __tablename__: ClassVar[Any] = "run_spans"

    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(foreign_key="runs.id", index=True)
    phase: str
    nodes: int
    began_at: datetime = Field(sa_type=Moment)
    ended_at: datetime = Field(sa_type=Moment)


class KeptLog(SQLModel, table=True):
    """The last lines of one pod of a run, without secrets; `is_final` once the pod has ended.

    `part` says which of several pods it is: launcher, worker-1, or 0. `read_to` is the line up to
    which metrics were read (`series.following`).
    """

    __tablename__: ClassVar[Any] = "kept_logs"

    run_id: str = Field(primary_key=True, foreign_key="runs.id")
    pod_uid: str = Field(primary_key=True)
    pod: str
    part: str = Field(default="", sa_column_kwargs={"server_default": ""})
    lines: list[str] = Field(sa_type=JSON)
    kept_at: datetime = Field(sa_type=Moment)
    is_failed: bool = False
    is_final: bool = False
    read_to: str = Field(default="", sa_column_kwargs={"server_default": ""})


class LogFollow(SQLModel, table=True):
    """A log that a person follows in a direct message, until `until` at the latest.

    `stop_at` is when they wanted no more of it. From `shown_pod` on its controller writes: the pod
    and the last lines that were read, and why it ended.
    """

    __tablename__: ClassVar[Any] = "log_follows"
    __table_args__ = (
        Index(
            "ix_log_follows_live",
            "person",
            "run_id",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index(
            "ix_log_follows_ended",
            "ended_at",
            postgresql_where=text("ended_at IS NOT NULL"),
            sqlite_where=text("ended_at IS NOT NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    run_id: str = Field(foreign_key="runs.id")
    pod: str = ""
    lines: int
    begun_at: datetime = Field(sa_type=Moment)
    until: datetime = Field(sa_type=Moment)
    stop_at: datetime | None = Field(default=None, sa_type=Moment)

    shown_pod: str = ""
    shown: list[str] = Field(default_factory=list, sa_type=JSON)
    kept_at: datetime | None = Field(default=None, sa_type=Moment)
    trouble: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    reason: str = ""

    @property
    def subject(self) -> Subject:
        """What its message is about."""
        return Subject(self.workspace_id, FOLLOW, self.id)


class RunWatch(SQLModel, table=True):
    """A person who is notified of what the owner of a run is notified of, until the run ends."""

    __tablename__: ClassVar[Any] = "run_watches"

    run_id: str = Field(primary_key=True, foreign_key="runs.id")
    person: str = Field(primary_key=True)
    began_at: datetime = Field(sa_type=Moment)


class RunOffer(SQLModel, table=True):
    """A run that is submitted together with the caches of its data, once confirmed.

    `spec` is what was asked for, `places` are those of its compute templates, `plans` are the
    caches as they were shown; all are empty once it was taken, and `run_id` is what became of it.
    """

    __tablename__: ClassVar[Any] = "run_offers"

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    cluster: str
    name: str
    spec: dict[str, Any] = Field(sa_type=JSON)
    plans: list[str] = Field(sa_type=JSON)
    places: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"}
    )
    asked_at: datetime = Field(sa_type=Moment, index=True)
    run_id: str | None = None


class Removal(SQLModel, table=True):
    """A request to stop an external workload; `outcome` says how that ended.

    `kind` is that of the object, `job_name` and `job_uid` are its own.
    """

    __tablename__: ClassVar[Any] = "removals"

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    kind: str = Field(default="Job", sa_column_kwargs={"server_default": "Job"})
    job_name: str
    job_uid: str = Field(index=True)
    owner: str | None = None
    asked_at: datetime = Field(sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    outcome: str = ""
    trouble: str = ""

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, REMOVAL, self.id)


def reference(name: str, number: int) -> str:
    """The reference of the run of that name and number."""
    return name if number == 1 else f"{name}#{number}"
