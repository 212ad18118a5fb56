"""The tables of GPU usage: samples by minute, and sums by hour.

Amounts are whole thousandths of a GPU-minute, so that sums are exact; memory is in MiB-minutes.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment

MINUTE, FIVE_MINUTES = 1, 5


class What(StrEnum):
    """What the amounts of a series are.

    GPUs held by a run, or by other pods; GPUs of all nodes, and of schedulable nodes; a team's
    quota, and what it borrows beyond it; whether there is a sample, and whether it includes
    quotas (each minute counts as one).
    """

    RUN = "run"
    OTHER = "other"
    NODES = "nodes"
    READY = "ready"
    QUOTA = "quota"
    BORROWED = "borrowed"
    SAMPLED = "sampled"
    QUOTED = "quoted"


class Series(SQLModel, table=True):
    """The owner of amounts, on GPUs of one type in one node pool.

    `run_id` is set for a run; `name` is the run's name, or that of another workload. `datasets`
    are those that the run reads, as people write them. What is unknown is empty. `idle_since` is
    since when all its GPUs have been measured as idle.
    """

    __tablename__: ClassVar[Any] = "gpu_series"
    __table_args__ = (
        Index(
            "ix_gpu_series_idle",
            "idle_since",
            postgresql_where=text("idle_since IS NOT NULL"),
            sqlite_where=text("idle_since IS NOT NULL"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    what: str
    cluster: str
    key: str = Field(unique=True)
    team: str = ""
    person: str = ""
    run_id: str = Field(default="", index=True)
    namespace: str = ""
    name: str = ""
    gpu_type: str = ""
    pool: str = ""
    datasets: str = ""
    idle_since: datetime | None = Field(default=None, sa_type=Moment)


class GpuPod(SQLModel, table=True):
    """A pod that holds or held GPUs; `amount` is in thousandths of a GPU.

    Pods of one `gpu_group` share a GPU; the pod with an amount of 0 reserves it for them.
    `first` is the first minute in which it was seen with GPUs, `last` the first minute without.
    """

    __tablename__: ClassVar[Any] = "gpu_pods"
    __table_args__ = (
        Index(
            "ix_gpu_pods_live",
            "cluster",
            postgresql_where=text("last IS NULL"),
            sqlite_where=text("last IS NULL"),
        ),
    )

    uid: str = Field(primary_key=True)
    cluster: str = Field(primary_key=True)
    namespace: str
    name: str
    series: int = Field(foreign_key="gpu_series.id")
    amount: int
    node: str = Field(default="", sa_column_kwargs={"server_default": ""})
    gpu_group: str = Field(default="", sa_column_kwargs={"server_default": ""})
    first: int
    last: int | None = Field(default=None, index=True)


class GpuFault(SQLModel, table=True):
    """A fault of a GPU: its kind and code, and the minutes in which it was first and last seen."""

    __tablename__: ClassVar[Any] = "gpu_faults"

    cluster: str = Field(primary_key=True)
    node: str = Field(primary_key=True)
    gpu: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    code: int = Field(primary_key=True)
    first: int = Field(primary_key=True)
    last: int = Field(index=True)


class Sample(SQLModel, table=True):
    """All series of a cluster in one minute or in five, packed; `minute` counts from 1970.

    `is_measured` says that the source was queried for usage, whether or not it had any.
    """

    __tablename__: ClassVar[Any] = "gpu_samples"

    cluster: str = Field(primary_key=True)
    step: int = Field(primary_key=True)
    minute: int = Field(primary_key=True)
    entries: bytes
    is_measured: bool = False


class Hour(SQLModel, table=True):
    """The amounts of one series in an hour; `hour` counts from 1970."""

    __tablename__: ClassVar[Any] = "gpu_hours"
    __table_args__: ClassVar[Any] = ({"sqlite_with_rowid": False},)

    hour: int = Field(primary_key=True)
    series: int = Field(primary_key=True, foreign_key="gpu_series.id")
    allocated: int = Field(sa_type=BigInteger)
    measured: int = Field(sa_type=BigInteger)
    busy: int = Field(sa_type=BigInteger)
    idle: int = Field(sa_type=BigInteger)
    memory_used: int = Field(sa_type=BigInteger)
    memory_total: int = Field(sa_type=BigInteger)


class Sampling(SQLModel, table=True):
    """The progress of sampling in a cluster.

    Hours before `rolled` are summed up (hours and minutes count from 1970). Usage was queried for
    minutes before `measured`, and queried once more for those before `settled` if it was
    incomplete. Samples of single minutes are kept from `minutes_from` on, of five minutes from
    `fives_from`. `trouble` says why usage is unknown.
    """

    __tablename__: ClassVar[Any] = "gpu_sampling"

    cluster: str = Field(primary_key=True)
    rolled: int
    measured: int
    settled: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    minutes_from: int
    fives_from: int
    trouble: str = ""
