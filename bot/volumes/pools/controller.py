"""Reads pools and volumes from Azure every few minutes, for code that may not call Azure."""

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, col, select

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import wake
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import Deadline
from bot.volumes.moves import moved_volumes
from bot.volumes.records import note
from bot.volumes.repairs.service import live_repair
from bot.volumes.resources import Estate, subscription_of
from bot.volumes.tables import MovedVolume, SeenPool

KIND, ROW = "anf-pools", "all"
LANE = "arm"
_DEADLINE_SECONDS = 20.0


def look_at_pools(settings: Settings, session: Session, now: datetime) -> None:
    """Wakes the controller of pools; also after the configuration was removed, to clean up."""
    known = (select(SeenPool.id).limit(1), select(MovedVolume.volume_name).limit(1))
    is_known = any(session.exec(each).first() is not None for each in known)
    if settings.anf is not None or is_known:
        wake(session, KIND, ROW, LANE, now)


class PoolController:
    """Reconciles the rows of pools and moved volumes.

    If Azure or one subscription cannot be read, figures of its pools become outdated by age, and
    moved volumes stay.
    """

    kind = KIND

    def __init__(
        self,
        clock: Clock,
        files: NetAppFiles,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._clock = clock
        self._files = files
        self._settings = settings
        self._clusters = clusters

    def step(self, _row_id: str, /) -> Step:
        """Reads Azure once; on StorageError nothing changes."""
        anf, now = self._settings().anf, self._clock.now()
        if anf is None:
            return Step(None, _forget)
        estate = self._files.estate(Deadline(_DEADLINE_SECONDS))
        moved = {
            name: rows
            for name, cluster in self._clusters.items()
            if (rows := moved_volumes(cluster, anf.trident_namespace, estate.volumes, now))
            is not None
        }

        def save(session: Session) -> None:
            _record(session, estate, now)
            for name, rows in moved.items():
                _record_moved(session, name, rows, _unread(estate), now)
            _drop(session, self._clusters)

        return Step(None, save)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Does nothing: outdated figures are shown as unknown where they are used."""


def _record(session: Session, found: Estate, now: datetime) -> None:
    rows = {each.id.lower(): each for each in found.pools}
    unread = _unread(found)
    for known in session.exec(select(SeenPool.id)).all():
        if known not in rows and subscription_of(known) not in unread:
            session.exec(delete(SeenPool).where(col(SeenPool.id) == known))
    for key, pool in rows.items():
        seen = SeenPool(
            id=key,
            name=pool.name,
            size_bytes=pool.size_bytes,
            taken_bytes=found.taken_bytes(pool),
            level=pool.level,
            qos=pool.qos,
            encryption=pool.encryption,
            made_by=pool.made_by,
            throughput_mibps=pool.throughput_mibps,
            given_mibps=sum(each.throughput_mibps or 0 for each in found.inside(pool)),
            seen_at=now,
        )
        session.merge(seen)


def _unread(found: Estate) -> frozenset[str]:
    return frozenset(each.subscription for each in found.unread)


def _record_moved(
    session: Session,
    cluster: str,
    rows: Iterable[MovedVolume],
    unread: Container[str],
    now: datetime,
) -> None:
    """Stores the moved volumes of this read; rows from later reads stay.

    So do those in subscriptions that could not be read.
    """
    there = {each.volume_name: each for each in rows}
    known = select(MovedVolume).where(col(MovedVolume.cluster) == cluster)
    for each in session.exec(known):
        is_read = subscription_of(each.current_id) not in unread
        if each.volume_name not in there and is_read and each.seen_at <= now:
            session.delete(each)
    for row in there.values():
        # Trident does not know a record that is written but that it has not read yet.
        row.is_stale = row.is_stale or live_repair(session, cluster, row.volume_name) is not None
        note(session, row)


def _drop(session: Session, clusters: Iterable[str]) -> None:
    session.exec(delete(MovedVolume).where(col(MovedVolume.cluster).not_in(list(clusters))))


def _forget(session: Session) -> None:
    session.exec(delete(SeenPool))
    session.exec(delete(MovedVolume))
