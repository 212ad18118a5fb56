"""Deletes rows that are no longer needed, a few at a time."""

from typing import Any

from sqlalchemy import ColumnElement, delete, inspect, select, tuple_
from sqlmodel import Session, SQLModel

MOST_ROWS = 1000


def forget_some(
    session: Session, table: type[SQLModel], *old: ColumnElement[bool], most: int = MOST_ROWS
) -> None:
    """Deletes old rows, but few enough not to delay other writers.

    What is left goes the next time.
    """
    key: tuple[Any, ...] = inspect(table).primary_key
    chosen = select(*key).where(*old).limit(most)
    session.connection().execute(delete(table).where(tuple_(*key).in_(chosen)))
