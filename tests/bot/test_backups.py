"""Backups on the command line: what is written, and what is refused before anything changes."""

import sqlite3
from contextlib import closing
from typing import Any, TypeVar

import pytest
from sqlmodel import Session, select

from bot.backups import prepare
from bot.database.database import Database
from bot.database.exclusive import alone
from bot.reconcile.due import Due
from bot.slack.messages import Message
from tests.bot.terminal import Terminal
from tests.states.state import DAY, NOW

T = TypeVar("T")
POSTGRES = {"QUARTERMASTER_DATABASE_URL": "postgresql://bot@127.0.0.1:9/quartermaster"}


@pytest.fixture
def migrated(terminal: Terminal) -> Terminal:
    assert terminal.run("migrate")[0] == 0
    return terminal


def refusal(terminal: Terminal, *words: str) -> list[str]:
    """What a command says that changes nothing."""
    before = sorted(path.name for path in terminal.folder.iterdir())
    code, out, error = terminal.run(*words)
    assert (code > 0, out) == (True, "")
    left = {path.name for path in terminal.folder.iterdir()} - {"bot.db.serve"}
    assert left == set(before) - {"bot.db.serve"}
    return error.splitlines()


def test_a_backup_is_one_whole_private_file(migrated: Terminal) -> None:
    path = migrated.folder / "bot.db"
    with closing(sqlite3.connect(path)) as bot:
        bot.execute("PRAGMA journal_mode=WAL")
        bot.execute("INSERT INTO installation VALUES (1, 'this-one', '0.1.0')")
        bot.commit()
        assert (migrated.folder / "bot.db-wal").stat().st_size > 0
        code, out, _ = migrated.run("backup", "copy.db")
    copy = migrated.folder / "copy.db"
    size = copy.stat().st_size
    assert (code, out) == (0, f"Wrote copy.db ({size:,} bytes). It has been checked.\n")
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as found:
        assert found.execute("SELECT installation_id FROM installation").fetchall() == [
            ("this-one",)
        ]
    assert [path.name for path in migrated.folder.glob("copy*")] == ["copy.db"]


def test_a_restored_backup_replaces_the_database(migrated: Terminal) -> None:
    assert migrated.run("backup", "copy.db")[0] == 0
    with closing(sqlite3.connect(migrated.folder / "bot.db")) as bot:
        bot.execute("INSERT INTO installation VALUES (1, 'later', '0.1.0')")
        bot.commit()
    code, out, _ = migrated.run("restore", "copy.db")
    (aside,) = migrated.folder.glob("bot.db.before-*Z")
    assert (code, out) == (
        0,
        f"The database before is {aside}.\nThe database is ready. Start the server.\n",
    )
    for path, rows in ((aside, 1), (migrated.folder / "bot.db", 0)):
        with closing(sqlite3.connect(path)) as found:
            assert found.execute("SELECT count(*) FROM installation").fetchone() == (rows,)


def test_backups_overwrite_no_other_file(migrated: Terminal) -> None:
    (migrated.folder / "copy.db").write_text("precious")
    assert refusal(migrated, "backup", "copy.db") == [
        "quartermaster: copy.db exists.",
        "Name another file.",
    ]
    assert (migrated.folder / "copy.db").read_text() == "precious"


def test_a_killed_backup_harms_no_other(migrated: Terminal) -> None:
    """It had named its file, and died before the first name was gone."""
    folder = migrated.folder
    assert migrated.run("backup", "monday.db")[0] == 0
    before = (folder / "monday.db").read_bytes()
    (folder / "copy.db.partial").hardlink_to(folder / "monday.db")
    with closing(sqlite3.connect(folder / "bot.db")) as bot:
        bot.execute("INSERT INTO installation VALUES (1, 'this-one', '0.1.0')")
        bot.commit()
    assert migrated.run("backup", "copy.db")[0] == 0
    assert (folder / "monday.db").read_bytes() == before
    assert not (folder / "copy.db.partial").exists()


def test_what_is_no_backup_is_refused(migrated: Terminal) -> None:
    (migrated.folder / "text.db").write_text("text")
    with closing(sqlite3.connect(migrated.folder / "other.db")) as other:
        other.execute("CREATE TABLE installation (id INTEGER)")
    assert refusal(migrated, "restore", "text.db") == [
        "quartermaster: The backup text.db could not be restored: file is not a database."
    ]
    assert refusal(migrated, "restore", "other.db") == [
        "quartermaster: other.db is no database of Quartermaster.",
        "Name a backup.",
    ]
    assert refusal(migrated, "restore", "absent.db") == [
        "quartermaster: There is no file absent.db.",
        "Name a backup: restore FILE.",
    ]


def test_a_backup_of_a_newer_release_is_refused(migrated: Terminal) -> None:
    with closing(sqlite3.connect(migrated.folder / "bot.db")) as bot:
        bot.execute("INSERT INTO installation VALUES (1, 'this-one', '99.0.0')")
        bot.commit()
    assert migrated.run("backup", "copy.db")[0] == 0
    with closing(sqlite3.connect(migrated.folder / "copy.db")) as copy:
        copy.execute("UPDATE alembic_version SET version_num = 'of99'")
        copy.commit()
    needed = "The database schema needs a server of version 99.0.0 or newer; this is 0.1.0."
    assert refusal(migrated, "restore", "copy.db") == [
        f"quartermaster: {needed}",
        "Install a newer Quartermaster.",
    ]


def test_a_running_server_keeps_its_database(migrated: Terminal) -> None:
    assert migrated.run("backup", "copy.db")[0] == 0
    path = migrated.folder / "bot.db"
    with alone(f"sqlite:///{path}"):
        assert refusal(migrated, "restore", "copy.db") == [
            f"quartermaster: Another server already uses {path}.",
            "Only one server can use a SQLite file; use PostgreSQL for several servers.",
        ]


def test_postgresql_has_programs_of_its_own(migrated: Terminal) -> None:
    migrated.environment |= POSTGRES
    assert refusal(migrated, "backup", "copy.db") == [
        "quartermaster: The database is a PostgreSQL.",
        "Back it up with: pg_dump --format=custom --no-owner --file=quartermaster.dump URL",
    ]
    assert refusal(migrated, "restore", "copy.db") == [
        "quartermaster: The database is a PostgreSQL.",
        "Load it with: pg_restore --no-owner --clean --if-exists --dbname=URL quartermaster.dump",
        "Then run `quartermaster restore` without a file.",
    ]


def message(name: str, **more: Any) -> Message:
    fields: dict[str, Any] = {
        "id": name, "workspace_id": "T0QM", "subject_kind": "run", "subject_id": name,
        "purpose": "card", "channel": "C0TEAMA", "created_at": NOW,
    }  # fmt: skip
    return Message(**(fields | more))


def furnish(session: Session) -> None:
    posted = {"place": "C0TEAMA", "ts": "1.2", "shown": 1, "shown_at": NOW - 365 * DAY}
    session.add(message("unposted"))
    session.add(message("dead", is_dead=True))
    session.add(message("live", live=True, **posted))
    session.add(message("ended", **posted))
    session.add(Due(kind="run", id="later", lane="x", due_at=NOW + 365 * DAY, lease_until=NOW))
    session.add(Due(kind="run", id="resting", lane="x"))


def test_restored_rows_are_all_looked_at(database: Database) -> None:
    database.transaction(furnish)
    database.transaction(prepare)

    def look(session: Session) -> tuple[dict[str, tuple[int, bool]], dict[str, tuple[bool, bool]]]:
        found = {row.id: (row.wants, bool(row.posting_since)) for row in _all(session, Message)}
        soon = NOW + 300 * DAY
        dues = {
            row.id: (row.due_at is not None and row.due_at < soon, row.lease_until is None)
            for row in _all(session, Due)
        }
        return found, dues

    assert database.read(look) == (
        {"unposted": (1, True), "dead": (1, False), "live": (2, False), "ended": (1, False)},
        {"later": (True, True), "resting": (False, True)},
    )


def _all(session: Session, table: type[T]) -> list[T]:
    return list(session.scalars(select(table)))
