"""Statements that differ only in their values: compiled once, and sent with little more ado."""

from collections.abc import Callable, KeysView, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import CursorResult, Dialect, Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlmodel import Session

Value = Callable[[Any], Any]


class Prepared:
    """A statement that is run often with other values; SQLAlchemy takes twice as long each time.

    Values are given by name, always the same names; a row that is inserted gets the table's
    defaults for the others. What comes back is as the database's driver gives it, so a
    statement whose results have types of ours (`Moment`, JSON) is not for this.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def __call__(self, session: Session, values: Mapping[str, object]) -> CursorResult[Any]:
        """Runs it in the session's transaction."""
        connection = session.connection()
        compiled = self._compiled.get(connection.dialect.name)
        if compiled is None or compiled.names != values.keys():
            compiled = _compile(self._statement, connection.dialect, values.keys())
            self._compiled[connection.dialect.name] = compiled
        return connection.exec_driver_sql(compiled.text, compiled.parameters(values))


@dataclass(frozen=True)
class _Compiled:
    """A statement as text; `order` is None where the driver takes values by name.

    `fixed` are values that the statement brings along, `made` those that are made for each run.
    """

    text: str
    names: frozenset[str]
    order: tuple[str, ...] | None
    fixed: Mapping[str, object]
    made: Mapping[str, Value]
    converted: Mapping[str, Value]

    def parameters(self, values: Mapping[str, object]) -> Any:
        """The values as the driver takes them."""
        given = {**self.fixed, **values}
        for name, make in self.made.items():
            given[name] = make(None)
        for name, convert in self.converted.items():
            given[name] = convert(given[name])
        return given if self.order is None else tuple([given[name] for name in self.order])


def _compile(statement: Executable, dialect: Dialect, names: KeysView[str]) -> _Compiled:
    text = cast("Any", statement).compile(dialect=dialect, column_keys=tuple(names))
    compiled = cast("SQLCompiler", text)
    order = tuple(compiled.positiontup) if compiled.positiontup is not None else None
    binds = {compiled.bind_names[bind]: bind for bind in compiled.bind_names}
    if missing := [name for name, each in binds.items() if each.required and name not in names]:
        raise TypeError(f"there is no value for {', '.join(missing)}")
    defaults = {column.key: cast("Any", column.default) for column in compiled.insert_prefetch}
    converters = {
        name: bind.type.dialect_impl(dialect).bind_processor(dialect)
        for name, bind in binds.items()
    }
    fixed = {name: bind.value for name, bind in binds.items() if name not in names}
    scalars = {name: each.arg for name, each in defaults.items() if each.is_scalar}
    return _Compiled(
        compiled.string,
        frozenset(names),
        order,
        fixed | scalars,
        {name: each.arg for name, each in defaults.items() if each.is_callable},
        {name: convert for name, convert in converters.items() if convert is not None},
    )
