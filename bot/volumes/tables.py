"""What Azure said last of capacity pools, so that nobody has to wait for it to know their room."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment


class SeenPool(SQLModel, table=True):
    """A capacity pool as it was at `seen_at`; `taken_bytes` is what its volumes may hold.

    Its id is that of Azure, in small letters.
    """

    __tablename__: ClassVar[Any] = "anf_pools"

    id: str = Field(primary_key=True)
    name: str
    size_bytes: int = Field(sa_type=BigInteger)
    taken_bytes: int = Field(sa_type=BigInteger)
    seen_at: datetime = Field(sa_type=Moment)
