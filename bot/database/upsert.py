"""An insert that updates the row if it already exists."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel

from bot.database.prepared import Prepared, connection_of


class Upsert:
    """One statement for both databases, built once: that takes longer than to run it.

    `key` are the columns that tell rows apart; `changes` says what becomes of a row that is
    there, given the columns of the one that was to be inserted.
    """

    def __init__(
        self,
        table: type[SQLModel],
        key: Sequence[str],
        changes: Callable[[Any], Mapping[str, ColumnElement[Any]]],
    ) -> None:
        lite, postgres = sqlite.insert(table), postgresql.insert(table)
        statements = {
            "sqlite": lite.on_conflict_do_update(index_elements=key, set_=changes(lite.excluded)),
            "postgresql": postgres.on_conflict_do_update(
                index_elements=key, set_=changes(postgres.excluded)
            ),
        }
        self._statements = {name: Prepared(each) for name, each in statements.items()}

    def __call__(self, session: Session, row: Mapping[str, object]) -> None:
        """Inserts the row, or changes the one that is there."""
        self._statements[connection_of(session).dialect.name](session, row)
