"""A lock that allows one server per SQLite file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from bot.errors import ConfigurationError


@contextmanager
def alone(url: str) -> Iterator[None]:
    """Holds the SQLite file for this server; ConfigurationError when another one has it.

    PostgreSQL takes any number of servers. The lock goes with the process, however it ends.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        yield
        return
    path = Path(f"{parsed.database}.serve")
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(
                f"Another server already uses {parsed.database}.",
                "Only one server can use a SQLite file; use PostgreSQL for several servers.",
            ) from None
        yield
    finally:
        os.close(handle)
