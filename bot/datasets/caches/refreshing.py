"""Checks the sources of datasets in use for new content, a few at a time."""

from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlmodel import Session, col

from bot.config import Datasets, Settings
from bot.datasets import bounds, finding
from bot.datasets.caches.tables import Cache
from bot.datasets.clusters import at_last
from bot.datasets.location import Location
from bot.datasets.tables import VERSION, Dataset, Version, VersionPhase
from bot.datasets.versions.surveys import new_survey
from bot.reconcile.due import Due, wake
from bot.reconcile.wakeups import cluster_lane

_AT_ONCE = 3
_IN_USE = timedelta(days=30)
_KEPT = timedelta(days=30)


def refresh(settings: Settings, session: Session, now: datetime) -> None:
    """Starts surveys of the datasets that are due, the longest unchecked first.

    Each cluster does a few at a time, so one that does not respond holds up no other.
    """
    datasets = settings.datasets
    if datasets is None or datasets.refresh == "off":
        return
    _forget(session, now - max(_KEPT, datasets.refresh))
    busy = Counter(session.scalars(select(col(Version.cluster)).where(*_live())).all())
    due = session.scalars(_unseen_since(now - datasets.refresh, now - _IN_USE)).all()
    newest = finding.newest_of_each(session, due)
    for dataset in due:
        found = newest.get(dataset.id)
        there = at_last(datasets, found.version if found else None)
        if busy[there.cluster] < _AT_ONCE and _may_look(session, settings, dataset):
            _begin(session, settings, there, dataset, now)
            busy[there.cluster] += 1


def _live() -> tuple[ColumnElement[bool], ...]:
    return col(Version.is_refresh).is_(True), col(Version.ended_at).is_(None)


def _forget(session: Session, before: datetime) -> None:
    """Deletes old surveys that found nothing new; others record what was reported already."""
    old = select(col(Version.id)).where(
        col(Version.is_refresh).is_(True),
        col(Version.is_cleared).is_(True),
        col(Version.phase).in_((VersionPhase.UNCHANGED, VersionPhase.FAILED)),
        col(Version.asked_at) < before,
    )
    ids = session.scalars(old).all()
    if ids:
        session.connection().execute(
            delete(Due).where(col(Due.kind) == VERSION, col(Due.id).in_(ids))
        )
        session.connection().execute(delete(Version).where(col(Version.id).in_(ids)))


def _unseen_since(moment: datetime, used_since: datetime) -> Select[Dataset]:
    """Datasets in use with a version, of which the last survey was asked for before a moment."""
    is_used = select(col(Cache.id)).where(
        col(Cache.dataset_id) == col(Dataset.id),
        or_(
            col(Cache.ended_at).is_(None),
            col(Cache.used_at) >= used_since,
            col(Cache.seen_used_at) >= used_since,
        ),
    )
    has_version = select(col(Version.id)).where(
        col(Version.dataset_id) == col(Dataset.id), col(Version.phase) == VersionPhase.READY
    )
    of_source = col(Version.selected_from) == ""
    surveys = (
        select(
            col(Version.dataset_id).label("dataset_id"),
            func.max(col(Version.asked_at)).filter(of_source).label("asked_at"),
            func.count().filter(col(Version.ended_at).is_(None)).label("live"),
        )
        .group_by(col(Version.dataset_id))
        .subquery()
    )
    return (
        select(Dataset)
        .join(surveys, surveys.c.dataset_id == col(Dataset.id))
        .where(
            col(Dataset.removed_at).is_(None),
            surveys.c.asked_at <= moment,
            surveys.c.live == 0,
            is_used.exists(),
            has_version.exists(),
        )
        .order_by(surveys.c.asked_at, col(Dataset.id))
    )


def _may_look(session: Session, settings: Settings, dataset: Dataset) -> bool:
    """Whether the owning team may still read the source and has a channel to be notified in."""
    team = settings.teams.get(dataset.team)
    is_told = team is not None and bool(team.channels)
    return is_told and bounds.of_dataset(session, settings, dataset) is None


def _begin(
    session: Session, settings: Settings, datasets: Datasets, dataset: Dataset, now: datetime
) -> None:
    channel = settings.teams[dataset.team].channels[0]
    row = new_survey(dataset, datasets, dataset.person, channel, now)
    row.is_refresh = True
    # Only this survey reads it, so the next one overwrites it.
    row.manifest = Location.of(datasets.state).below("refreshes", dataset.id).url
    session.add(row)
    session.flush()
    wake(session, VERSION, row.id, cluster_lane(row.cluster), now)
