"""Column types and ids shared by every table."""

import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from sqlalchemy import Column, DateTime, Dialect, MetaData, Table, event
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import SQLModel
from typing_extensions import override

if sys.version_info >= (3, 14):
    from uuid import uuid7
else:
    from bot.database.uuid7 import Uuid7

    uuid7 = Uuid7()

# Rows come from our own code and the database: what would check them is never asked for.
SQLModel.model_config["defer_build"] = True
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

_MOST = 2**63 - 1
WholeNumber = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
"""A number in what msgspec reads that a column of integers can hold."""

_types: dict[tuple[type, str], TypeEngine[Any]] = {}


@event.listens_for(Column, "before_parent_attach")
def _share_type(column: Column[Any], table: Table) -> None:
    """Columns of one type share it: each type that is made has classes of its own, 2.5 MB in all.

    What a `TypeDecorator` is told besides its `impl` its repr leaves out, so ours are told nothing.
    """
    if table.metadata is SQLModel.metadata:
        key = (type(column.type), repr(column.type))
        column.type = _types.setdefault(key, column.type)


def whole_number(text: str) -> int | None:
    """The number that a text says, if a column of integers can hold it."""
    is_one = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST))
    return int(text) if is_one and int(text) <= _MOST else None


def metadata() -> MetaData:
    """The tables declared so far; complete once `bot.app` is imported."""
    return SQLModel.metadata


class Moment(TypeDecorator[datetime]):
    """A time in UTC that comes back timezone-aware from every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone cannot be stored: {value!r}")
        return value.astimezone(UTC)

    @override
    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


@lru_cache(maxsize=4096)  # a list reads the same moments each time, and reading one takes long
def moment_of(kept: str | datetime | None) -> datetime | None:
    """A `Moment` as returned by the driver, for statements that run without types."""
    moment = datetime.fromisoformat(kept) if isinstance(kept, str) else kept
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def new_id() -> str:
    """A fresh row id: a UUIDv7 in hex, so ids sort by age and end in random digits."""
    return uuid7().hex
