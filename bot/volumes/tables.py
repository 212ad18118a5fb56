"""What Azure said last of pools and of moved volumes, so that nobody has to wait for it."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment


class SeenPool(SQLModel, table=True):
    """A capacity pool as it was at `seen_at`; `taken_bytes` is what its volumes may hold.

    Its id is that of Azure, in small letters. Of its throughput `given_mibps` is what its volumes
    have; without a `level` nobody has looked at these yet.
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
    given_mibps: float = Field(default=0, sa_column_kwargs={"server_default": "0"})
    seen_at: datetime = Field(sa_type=Moment)


class MovedVolume(SQLModel, table=True):
    """A volume of Trident's that is not where its PV says, as it was at `seen_at`.

    `told_id` is what the PV says, `current_id` where Azure has it, and `recorded_id` what Trident
    keeps: empty where the bot could not read that, and `unread` then says why. While `is_stale`
    Trident looks for it where it is not. `source` is the PV whose volume this one only shows again.
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
