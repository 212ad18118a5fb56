"""Backups of a SQLite database while the bot runs, and what a restored database needs."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import make_url

from bot.app import version
from bot.config import ConfigurationFile
from bot.database import schema
from bot.database.database import Database, Session
from bot.database.exclusive import alone
from bot.errors import ConfigurationError, DatabaseError
from bot.reconcile import due
from bot.slack import messages

_DUMP = "pg_dump --format=custom --no-owner --file=quartermaster.dump URL"
_LOAD = "pg_restore --no-owner --clean --if-exists --dbname=URL quartermaster.dump"
_BESIDE = ("-wal", "-shm")


def backup(path: Path, target: Path) -> int:
    """Copies the database of this configuration to a new file, and returns its size in bytes.

    The copy is one consistent state, and has been checked; people who use the bot meanwhile wait
    for nothing. ConfigurationError for a PostgreSQL, or if the file exists; DatabaseError if the
    database cannot be read, or the copy not be written.
    """
    source = _file_of(ConfigurationFile(path).load().database.url)
    if source is None:
        raise ConfigurationError("The database is a PostgreSQL.", f"Back it up with: {_DUMP}")
    if target.exists():
        raise ConfigurationError(f"{target} exists.", "Name another file.")
    if not source.exists():
        raise ConfigurationError(f"There is no database {source}.", "Check database.url.")
    partial = target.with_name(f"{target.name}.partial")
    with _told(f"The backup {target} could not be written"), _unfinished(partial):
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        with closing(sqlite3.connect(partial)) as copy:
            with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as now:
                now.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # all of it in one file
            _refuse_damage(copy, target)
        _keep(partial, target)
    return target.stat().st_size


def restore(path: Path, source: Path | None) -> Path | None:
    """Puts a backup in place of the database, and prepares it; without one, only prepares.

    Returns where the replaced database is now, None if there was none. No bot may use the
    database meanwhile. ConfigurationError or DatabaseError says what does not fit, before
    anything is changed.
    """
    url = ConfigurationFile(path).load().database.url
    file = _file_of(url)
    if source is not None and file is None:
        hint = f"Load it with: {_LOAD}\nThen run `quartermaster restore` without a file."
        raise ConfigurationError("The database is a PostgreSQL.", hint)
    with alone(url):
        if file is not None and source is not None:
            return _replace(file, source, url)
        _make_ready(url)
    return None


def prepare(session: Session) -> None:
    """Has everything looked at again that may have happened since the backup.

    Messages that were not in Slack yet are looked for there before they are posted; cards are
    shown as they are now; each row is due.
    """
    now = datetime.now(UTC)
    messages.doubt_all(session, now)
    due.make_all_due(session, now)


def _file_of(url: str) -> Path | None:
    """The file of a SQLite database, None for a PostgreSQL."""
    parsed = make_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database
    return Path(str(parsed.database)) if is_file else None


def _make_ready(url: str) -> None:
    """Upgrades the schema and prepares the rows; DatabaseError if the schema does not fit."""
    schema.upgrade(url)
    with closing(Database(url)) as database:
        database.read(lambda session: schema.refuse_misfit(session, version()))
        database.transaction(prepare)


def _replace(file: Path, source: Path, url: str) -> Path | None:
    """Puts a copy of the backup in place once it is ready; the database before stays beside it."""
    if not source.is_file():
        raise ConfigurationError(f"There is no file {source}.", "Name a backup: restore FILE.")
    partial = file.with_name(f"{file.name}.partial")
    with _told(f"The backup {source} could not be restored"), _unfinished(partial):
        shutil.copyfile(source, partial)
        with closing(sqlite3.connect(partial)) as copy:
            _refuse_damage(copy, source)
            _refuse_others(copy, source)
        partial.chmod(0o600)
        its = make_url(url).set(database=str(partial))
        _make_ready(its.render_as_string(hide_password=False))
        replaced = _set_aside(file)
        partial.rename(file)
    return replaced


def _set_aside(file: Path) -> Path | None:
    if not file.exists():
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = file.with_name(f"{file.name}.before-{stamp}")
    for end in ("", *_BESIDE):
        with suppress(FileNotFoundError):
            file.with_name(file.name + end).rename(aside.with_name(aside.name + end))
    return aside


def _refuse_damage(copy: sqlite3.Connection, shown: Path) -> None:
    ((first, *_), *_) = copy.execute("PRAGMA integrity_check(1)").fetchall()
    if first != "ok":
        raise DatabaseError(f"{shown} is damaged: {first}", "Use another backup.")


def _refuse_others(copy: sqlite3.Connection, shown: Path) -> None:
    named = "SELECT count(*) FROM sqlite_master WHERE name IN ('installation', 'alembic_version')"
    if copy.execute(named).fetchone() != (2,):
        raise ConfigurationError(f"{shown} is no database of Quartermaster.", "Name a backup.")


def _keep(partial: Path, target: Path) -> None:
    """Gives a finished file its name, unless that is taken."""
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.link(partial, target)


@contextmanager
def _unfinished(partial: Path) -> Iterator[None]:
    """Removes the file before, as it may be a finished one under its first name, and after."""
    _remove(partial)
    try:
        yield
    finally:
        _remove(partial)


def _remove(partial: Path) -> None:
    for end in ("", "-journal", *_BESIDE):
        partial.with_name(partial.name + end).unlink(missing_ok=True)


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise DatabaseError(f"{what}: {error}.") from error
