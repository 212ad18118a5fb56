"""Failures of the database as sentences that say whether anything was written."""

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from bot.errors import DatabaseError

_NOTHING_DONE = "Nothing was done. Try again in a moment."
_UNKNOWN = "It is unknown whether this was recorded. Check before you repeat it."
_CONFLICTS = {"40001", "40P01"}


def busy() -> DatabaseError:
    """No connection or lock could be had in time."""
    return DatabaseError("The database was too busy.", _NOTHING_DONE)


def late() -> DatabaseError:
    """The work was done after its deadline, and rolled back."""
    return DatabaseError("This took too long.", _NOTHING_DONE)


def abandoned(*, is_begun: bool) -> DatabaseError:
    """The writer ended while it ran this work, or before."""
    told = _UNKNOWN if is_begun else _NOTHING_DONE
    return DatabaseError("The thread that writes to the database has ended.", told)


def failed(error: SQLAlchemyError) -> DatabaseError:
    """What the driver or SQLAlchemy raised; a commit without an answer is in doubt."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        told = _UNKNOWN if is_doubtful(error) else _NOTHING_DONE
        return DatabaseError("The database connection was lost.", told)
    return DatabaseError(f"The database failed ({type(error).__name__}).", _NOTHING_DONE)


def is_doubtful(error: DBAPIError) -> bool:
    """Whether the connection was lost at the commit, which has no statement."""
    return error.connection_invalidated and error.statement is None


def is_unreachable(error: DBAPIError) -> bool:
    """Whether a connection was lost, or could not be made."""
    return isinstance(error, OperationalError) and (
        error.connection_invalidated or error.statement is None
    )


def is_conflict(error: BaseException) -> bool:
    """Whether another writer was first, so that the work is to be repeated."""
    if not isinstance(error, DBAPIError):
        return False
    is_serialization = getattr(error.orig, "sqlstate", None) in _CONFLICTS
    return is_serialization or "database is locked" in str(error.orig)
