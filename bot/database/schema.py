"""The schema's version: whether this server fits it, and how it is upgraded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlmodel import Field, Session, SQLModel

from bot.database.columns import new_id
from bot.database.revisions import FOLDER, known, newest
from bot.errors import DatabaseError

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATE = "quartermaster migrate"
_LOCK = 0x51_4D_53_43  # any number, as long as every version asks for the same
_WAIT_SECONDS = 30


class Installation(SQLModel, table=True):
    """The one row that says which installation this database is."""

    __tablename__: ClassVar[Any] = "installation"

    id: int = Field(default=1, primary_key=True)
    installation_id: str = Field(default_factory=new_id)
    oldest_server: str = "0.1.0"


def upgrade(url: str) -> bool:
    """Upgrades the schema, one process at a time; DatabaseError if that fails.

    A schema that a newer release has made is left alone, and False returned: after a rollback the
    server says itself whether it fits.
    """
    # To import Alembic takes a tenth of a start, and a server only has to know that it fits.
    from alembic import command  # noqa: PLC0415 - see above

    try:
        with _alone(url) as connection:
            current = revision_in(connection)
            if current is not None and current not in known():
                return False
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _refuse_broken_keys(connection)
    except SQLAlchemyError as error:
        raise DatabaseError(
            f"The schema could not be upgraded: {_first_line(error)}",
            "Nothing was changed. Check the database and run it again.",
        ) from error
    return True


def revise(url: str, message: str) -> None:
    """Writes a migration from the schema of this database to the tables as declared now."""
    from alembic import command  # noqa: PLC0415 - as above

    with _alone(url) as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.revision(config, message, autogenerate=True)


def refuse_misfit(session: Session, version: str) -> None:
    """Nothing when this server fits the schema; DatabaseError with the command otherwise."""
    revisions, current = known(), revision_of(session)
    if current == newest(revisions):
        return
    if current is None or current in revisions:
        raise DatabaseError("The database schema is older than this server.", f"Run `{MIGRATE}`.")
    oldest = session.get_one(Installation, 1).oldest_server
    if _numbers(version) < _numbers(oldest):
        raise DatabaseError(
            f"The database schema needs a server of version {oldest} or newer; this is {version}.",
            "Install a newer Quartermaster.",
        )


def installation(session: Session) -> str:
    """The id of this installation, made when it is first asked for."""
    row = session.get(Installation, 1)
    if row is None:
        row = Installation()
        session.add(row)
    return row.installation_id


def revision_of(session: Session) -> str | None:
    """The schema revision of this database; None if it has no tables yet."""
    return revision_in(session.connection())


def revision_in(connection: Connection) -> str | None:
    """The same, by a connection."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def _config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", "%%(year)d%%(month).2d%%(day).2d_%%(rev)s_%%(slug)s")
    return config


@contextmanager
def _alone(url: str) -> Iterator[Connection]:
    """A connection whose transaction keeps every other migration out until it is committed."""
    if url.startswith("sqlite"):
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _WAIT_SECONDS})
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
            with _sqlite_transaction(connection):
                yield connection
        engine.dispose()
        return
    engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 3})
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_SECONDS}s'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection
    engine.dispose()


@contextmanager
def _sqlite_transaction(connection: Connection) -> Iterator[None]:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _refuse_broken_keys(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise DatabaseError(
            f"The migration would leave {len(broken)} rows with broken foreign keys.",
            "Nothing was changed. Report this as a bug.",
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])


def _first_line(error: SQLAlchemyError) -> str:
    return str(error).splitlines()[0][:200]
