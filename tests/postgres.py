"""A private PostgreSQL server for the tests marked `postgres`, gone when they end."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest

from playground.loopback import reserved_port

_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
_ROOM_BYTES = 2 * 2**30
# Nothing outlives the machine, and by default a restart of the server neither.
_NO_DISK = "-c fsync=off -c full_page_writes=off"
_HASTY = "-c synchronous_commit=off"


@dataclass
class PostgresServer:
    """A running server; every database it hands out is a new one."""

    port: int
    restart: Callable[[], None]
    """Ends it without ceremony, as a crash does, and starts it again."""
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self) -> str:
        """The URL of an empty database."""
        name = f"test{next(self._numbers)}"
        with self._connected() as connection:
            connection.execute(copying(connection, name, "template1"))
        return self.url(name)

    def drop(self, url: str) -> None:
        """Removes a database: the files of hundreds of them take minutes to remove at the end."""
        with self._connected() as connection:
            connection.execute(f"DROP DATABASE {url.rsplit('/', 1)[1]} WITH (FORCE)".encode())

    def disconnect_all(self, url: str) -> int:
        """Ends all connections to a database; how many there were."""
        order = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with self._connected() as connection:
            return len(connection.execute(order, (url.rsplit("/", 1)[1],)).fetchall())

    def url(self, database: str) -> str:
        """The URL of the database of that name."""
        return f"postgresql://app@127.0.0.1:{self.port}/{database}"

    def _connected(self) -> psycopg.Connection:
        return psycopg.connect(self.url("postgres"), autocommit=True)


def copying(connection: psycopg.Connection, name: str, template: str) -> bytes:
    """What makes a database that is a copy of another, by its files where one may choose.

    Writing a copy to the log, which is PostgreSQL's default since 15, takes twice as long.
    """
    how = " STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
    return f"CREATE DATABASE {name} TEMPLATE {template}{how}".encode()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server on loopback for this test session; skips where its programs are absent."""
    programs = programs_of_postgres()
    if programs is None:
        _absent()
    with running(programs) as server:
        yield server


@contextmanager
def running(programs: Path, *, keeps_commits: bool = False) -> Iterator[PostgresServer]:
    """A server on loopback, while it lasts; `keeps_commits` over restarts if that is asked for."""
    folder = Path(tempfile.mkdtemp(prefix="quartermaster-postgres-", dir=_in_memory()))
    data = folder / "data"
    try:
        run = _runner(folder)
        run(f"{programs}/initdb", "-D", f"{data}", "-U", "app", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync")  # fmt: skip
        control = (f"{programs}/pg_ctl", "-D", f"{data}", "-w")
        with reserved_port() as port:
            options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} {_NO_DISK}"
            options += "" if keeps_commits else f" {_HASTY}"
            starting = (*control, "-l", f"{folder}/log", "-o", options)
            run(*starting, "start")
            try:
                yield PostgresServer(port, partial(run, *starting, "-m", "immediate", "restart"))
            finally:
                run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database for one test."""
    url = postgres_server.fresh()
    yield url
    postgres_server.drop(url)


def programs_of_postgres() -> Path | None:
    """The folder of initdb and pg_ctl: from PATH, else the newest that is installed."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [f for pattern in _FOLDERS for f in Path("/").glob(pattern[1:])]
    usable = [folder for folder in found if (folder / "pg_ctl").exists()]
    return max(usable, key=_version, default=None)


def _in_memory() -> Path | None:
    """A folder in memory with room for a server; None where there is none, as on macOS.

    Each database has hundreds of files, which a file system on a disk makes and removes slowly.
    """
    folder = Path("/dev/shm")  # noqa: S108 - its files are the server's own
    is_roomy = folder.is_dir() and shutil.disk_usage(folder).free > _ROOM_BYTES
    return folder if is_roomy and os.access(folder, os.W_OK) else None


def _version(folder: Path) -> int:
    digits = "".join(c for c in folder.parent.name if c.isdigit())
    return int(digits or 0)


def _absent() -> NoReturn:
    message = "PostgreSQL's initdb was not found; `make test` says how to install it"
    pytest.skip(message)


def _runner(folder: Path) -> Callable[..., None]:
    """Runs programs in `folder`; root hands it to user postgres, as the server refuses root."""
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user, user)

    def run(*command: str) -> None:
        done = subprocess.run(
            command,
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=110,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")

    return run
