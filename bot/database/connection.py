"""The engines behind a database URL, and how each database is set up."""

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from bot.errors import ConfigurationError

BUSY_MILLISECONDS = 1500
# The writer checkpoints its log itself only after about 40 MB without a checkpoint.
_MOST_PAGES_OF_LOG = 10_000
_EXAMPLES = "sqlite:///quartermaster.db or postgresql://bot@db.example/quartermaster"


def engines(url: str) -> tuple[Engine, Engine]:
    """A write and a read engine for `url`; ConfigurationError when it is none of ours."""
    try:
        name = make_url(url).get_backend_name()
    except ArgumentError:
        raise ConfigurationError("The database URL is not valid", f"Use {_EXAMPLES}") from None
    if name == "sqlite":
        return _sqlite(url, begin="BEGIN IMMEDIATE", size=1), _sqlite(url, begin="BEGIN", size=16)
    if name == "postgresql":
        return _postgres(url, "SERIALIZABLE"), _postgres(url, "REPEATABLE READ")
    raise ConfigurationError(f"{name} is not a supported database", f"Use {_EXAMPLES}")


def _sqlite(url: str, *, begin: str, size: int) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        connect_args={"check_same_thread": False},
    )

    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={BUSY_MILLISECONDS}",
            f"wal_autocheckpoint={_MOST_PAGES_OF_LOG}",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    def start(connection: Any, _record: object, _proxy: object) -> None:
        connection.execute(begin)

    event.listen(engine, "connect", prepare)
    # Not "begin": an engine with listeners of its own looks for more of them at each statement.
    event.listen(engine, "checkout", start)
    return engine


def _postgres(url: str, isolation: str) -> Engine:
    return create_engine(
        url,
        isolation_level=isolation,
        pool_size=16,
        max_overflow=8,
        pool_timeout=2,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": 3,
            # A server that is lost with its machine sends no word; the kernel would wait for hours.
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
            # In a zone that changes its clocks, an hour of sums and comparisons would be wrong.
            "options": "-c TimeZone=UTC -c statement_timeout=10000 -c lock_timeout=5000"
            " -c idle_in_transaction_session_timeout=30000",
        },
    )
