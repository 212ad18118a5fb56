"""Runs migrations on the connection that `bot.database.schema` holds the lock with."""

from typing import Any, Literal

from alembic import context
from sqlalchemy.types import TypeDecorator
from sqlmodel import SQLModel


def render(kind: str, value: Any, _context: Any) -> str | Literal[False]:
    """Column types as SQLAlchemy's own, so that a migration never changes with our code."""
    if kind != "type" or not isinstance(value, TypeDecorator):
        return False
    return f"sa.{value.impl!r}"


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    render_item=render,
    compare_type=True,
    transactional_ddl=False,
)
context.run_migrations()
