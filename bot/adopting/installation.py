"""Which installation a new database continues, and whether it may."""

from collections import Counter
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import Session, SQLModel

from bot.database.leases import LeaseRow
from bot.database.schema import Installation
from bot.datasets.caches.tables import Cache
from bot.datasets.tables import Dataset, Push, Version
from bot.errors import ConfigurationError, ConflictError, NotFoundError
from bot.quotas.tables import ManagedQuota, Override
from bot.snapshots.copies.tables import Copy
from bot.snapshots.tables import Restore, Snapshot, SnapshotSchedule
from bot.teams.tables import SlackTeam, TeamChange
from bot.training.tables import Run

_OWN: tuple[tuple[str, type[SQLModel]], ...] = (
    ("runs", Run),
    ("quota overrides", Override),
    ("changed quotas", ManagedQuota),
    ("datasets", Dataset),
    ("versions", Version),
    ("caches", Cache),
    ("snapshots", Snapshot),
    ("restores", Restore),
    ("snapshot schedules", SnapshotSchedule),
    ("pushes", Push),
    ("copies of PVCs", Copy),
    ("changes of teams", TeamChange),
    ("teams of Slack", SlackTeam),
)


def choose(found: Counter[str], wanted: str | None, current: str | None) -> str:
    """The installation to continue: the one that was named, or the only one found besides ours.

    NotFoundError or ConfigurationError lists those that were found.
    """
    listed = ", ".join(f"{name} ({_objects(count)})" for name, count in found.most_common())
    if wanted is not None and wanted not in found:
        raise NotFoundError(
            f"No object in the clusters is of installation {wanted}.",
            f"There are objects of: {listed}." if found else "There are none of any installation.",
        )
    if wanted is not None:
        return wanted
    if current in found:
        return str(current)
    if not found:
        raise NotFoundError(
            "The clusters have no object of any installation of Quartermaster.",
            "There is nothing to adopt. Start the server.",
        )
    if len(found) > 1:
        raise ConfigurationError(
            f"The clusters have objects of {len(found)} installations: {listed}.",
            "Several bots may share a cluster. Name the one whose database was lost:"
            " --installation ID.",
        )
    return next(iter(found))


def current_in(session: Session) -> str | None:
    """The installation of this database; None before its first start."""
    row = session.get(Installation, 1)
    return None if row is None else row.installation_id


def refuse_used(session: Session, wanted: str) -> None:
    """ConflictError if this database has rows of another installation."""
    current = current_in(session)
    if current in {None, wanted}:
        return
    counted = {name: session.scalar(select(func.count()).select_from(t)) or 0 for name, t in _OWN}
    rows = ", ".join(f"{name}: {count}" for name, count in counted.items() if count)
    if rows:
        raise ConflictError(
            f"This database has rows of installation {current} ({rows}). Nothing was adopted.",
            "What it created would be lost to it. Adopt into a database that was migrated and not"
            " used yet.",
        )


def refuse_served(session: Session, real_now: datetime) -> None:
    """ConflictError while a server uses this database; one file of SQLite is locked besides."""
    if any(each.until > real_now for each in session.scalars(select(LeaseRow))):
        raise ConflictError(
            "A server uses this database. Nothing was adopted.",
            "Stop all servers, wait a minute, and run the command again.",
        )


def take_over(session: Session, installation: str) -> None:
    """Makes this database that of the installation."""
    row = session.get(Installation, 1) or Installation()
    row.installation_id = installation
    session.add(row)


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"
