"""What GPUs did, as rows: who had them, minute by minute, and summed up by the hour.

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

    GPUs that a run holds, or somebody else's pods; those of nodes in all, and of nodes that take
    work; a team's quota, and what it borrows beyond it; and whether there is a sample at all, and
    whether quotas are known in it, for which each minute counts as one.
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
    """Whose amounts they are, on GPUs of one type in one pool of nodes.

    `run_id` is that of a run; `name` is what people call it, or what it is that others started.
    `datasets` are what the run reads, as people write them. What nobody told is empty.
    `idle_since` is since when all its GPUs are known to do nothing.
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
    """A pod that holds, or held, GPUs; `amount` is in thousandths of a GPU.

    Those of one `gpu_group` share a GPU; the one with an amount of 0 holds it for them.
    `first` is the minute in which it was first seen with them, `last` the first one without.
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
    """Something that was wrong with a GPU: its kind and code, seen from a minute until another."""

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

    `is_measured` says that it was asked what the GPUs did, whether or not anybody knew.
    """

    __tablename__: ClassVar[Any] = "gpu_samples"

    cluster: str = Field(primary_key=True)
    step: int = Field(primary_key=True)
    minute: int = Field(primary_key=True)
    entries: bytes
    is_measured: bool = False


class Hour(SQLModel, table=True):
    """What one series came to in an hour; `hour` counts from 1970."""

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
    """How far the samples of a cluster are.

    Hours before `rolled` are summed up, counted from 1970 as minutes are. It was asked what the
    GPUs did in minutes before `measured`, and once more in those before `settled`, where not all
    of it was known. Samples of single minutes are kept from `minutes_from`
    on, of five from `fives_from`. `trouble` says why nobody knows what the GPUs do.
    """

    __tablename__: ClassVar[Any] = "gpu_sampling"

    cluster: str = Field(primary_key=True)
    rolled: int
    measured: int
    settled: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    minutes_from: int
    fives_from: int
    trouble: str = ""
