"""Prepared statements: compiled once, and run with different values."""

from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlmodel import Session

Value = Callable[[Any], Any]

_CONNECTION = "connection"


class Result(NamedTuple):
    """What a statement brought: its rows, each with the columns in their order, and how many."""

    rows: Sequence[Sequence[Any]]
    rowcount: int


def session_on(connection: Connection) -> Session:
    """A session within the connection's transaction, which alone is committed or rolled back.

    It has no transaction of its own until something asks for one, and statements find the
    connection without asking it: both takes longer than most of them.
    """
    return Session(connection, expire_on_commit=False, info={_CONNECTION: connection})


def connection_of(session: Session) -> Connection:
    """The connection on which a session's transaction runs."""
    return session.info.get(_CONNECTION) or session.connection()


@contextmanager
def savepoint(session: Session) -> Iterator[None]:
    """Takes back what is written within it if an error leaves it, also by prepared statements."""
    with session.begin_nested():
        # A session begins its savepoint only once it is asked for the connection, and prepared
        # statements do not ask.
        session.connection()
        yield


class Prepared:
    """A statement that is run often with other values; SQLAlchemy takes five times as long.

    It goes to the database's driver as text, in the session's transaction. Values are given by
    name, always the same names; a row that is inserted gets the table's defaults for the others.
    What comes back is as the driver gives it, so a statement whose results have types of ours
    (`Moment`, JSON) is not for this.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def __call__(self, session: Session, values: Mapping[str, object]) -> Result:
        """Runs it in the session's transaction; DBAPIError when the database refuses."""
        connection = connection_of(session)
        compiled = self._compiled.get(connection.dialect.name)
        if compiled is None or compiled.names != values.keys():
            compiled = _compile(self._statement, connection.dialect, values.keys())
            self._compiled[connection.dialect.name] = compiled
        done = connection.exec_driver_sql(compiled.text, compiled.parameters(values))
        return Result(done.all() if done.returns_rows else (), done.rowcount)


@dataclass(frozen=True)
class _Compiled:
    """A statement as text; `order` is None where the driver takes values by name.

    `fixed` are values that the statement brings along, as the driver takes them; `made` are those
    that are made for each run.
    """

    text: str
    names: frozenset[str]
    order: tuple[str, ...] | None
    fixed: Mapping[str, object]
    made: Mapping[str, Value]
    converted: Sequence[tuple[str, Value]]

    def parameters(self, values: Mapping[str, object]) -> Any:
        """The values as the driver takes them."""
        given = {**self.fixed, **values}
        for name, make in self.made.items():
            given[name] = make(None)
        for name, convert in self.converted:
            given[name] = convert(given[name])
        return given if self.order is None else tuple(given[name] for name in self.order)


def _compile(statement: Executable, dialect: Dialect, names: KeysView[str]) -> _Compiled:
    text = cast("Any", statement).compile(dialect=dialect, column_keys=tuple(names))
    compiled = cast("SQLCompiler", text)
    order = tuple(compiled.positiontup) if compiled.positiontup is not None else None
    binds = {compiled.bind_names[bind]: bind for bind in compiled.bind_names}
    if missing := [name for name, each in binds.items() if each.required and name not in names]:
        raise TypeError(f"there is no value for {', '.join(missing)}")
    defaults = {column.key: cast("Any", column.default) for column in compiled.insert_prefetch}
    scalars = {name: each.arg for name, each in defaults.items() if each.is_scalar}
    made = {name: each.arg for name, each in defaults.items() if each.is_callable}
    changing = {*names, *made}
    fixed = {name: bind.value for name, bind in binds.items() if name not in changing} | scalars
    found = {
        name: bind.type.dialect_impl(dialect).bind_processor(dialect)
        for name, bind in binds.items()
    }
    converters = {name: convert for name, convert in found.items() if convert is not None}
    return _Compiled(
        compiled.string,
        frozenset(names),
        order,
        {name: converters.get(name, _as_it_is)(value) for name, value in fixed.items()},
        made,
        [(name, convert) for name, convert in converters.items() if name in changing],
    )


def _as_it_is(value: object) -> object:
    return value
