"""Rows of pools and moved volumes as of the last read from Azure."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment


class SeenPool(SQLModel, table=True):
    """A capacity pool as of `seen_at`; `taken_bytes` is the sum of its volumes' quotas.

    Its id is Azure's, in lower case. `made_by` is the installation of the bot that created it,
    empty for others. `given_mibps` is the throughput of its volumes; a pool without
    a `level` has not been read completely yet.
    """

    __tablename__: ClassVar[Any] = "anf_pools"

    id: str = Field(primary_key=True)
    name: str
    size_bytes: int = Field(sa_type=BigInteger)
    taken_bytes: int = Field(sa_type=BigInteger)
    level: str = Field(default="", sa_column_kwargs={"server_default": ""})
    qos: str = Field(default="", sa_column_kwargs={"server_default": ""})
    encryption: str = Field(default="", sa_column_kwargs={"server_default": ""})
    throughput_mibps: float | None = None
    made_by: str = Field(default="", sa_column_kwargs={"server_default": ""})
    given_mibps: float = Field(default=0, sa_column_kwargs={"server_default": "0"})
    seen_at: datetime = Field(sa_type=Moment)


class MovedVolume(SQLModel, table=True):
    """A volume of Trident's that is not where its PV says, as of `seen_at`.

    `told_id` is the id in the PV, `current_id` the one in Azure, and `recorded_id` the one in
    Trident's record: empty if the bot could not read it, and `unread` then says why. While
    `is_stale`, Trident has an outdated id. `source` is the PV whose volume this one shares.
    """

    __tablename__: ClassVar[Any] = "anf_moved_volumes"

    cluster: str = Field(primary_key=True)
    volume_name: str = Field(primary_key=True)
    namespace: str
    claim_name: str
    told_id: str
    current_id: str
    recorded_id: str = ""
    unread: str = ""
    source: str = ""
    is_stale: bool = True
    seen_at: datetime = Field(sa_type=Moment)
