"""Handles changes of queues: wakes their rows, and recovers overrides left behind."""

from datetime import datetime

import structlog
from sqlalchemy import select
from sqlmodel import col

from bot.cluster.types.objects import ClusterObject
from bot.cluster.view import Change
from bot.database.database import Database, Session
from bot.errors import DatabaseError
from bot.quotas.engines.engine import Engine
from bot.quotas.engines.quota import QuotaAnnotation, decoded
from bot.quotas.engines.registry import ENGINES
from bot.quotas.overrides.beginning import managed
from bot.quotas.tables import QUOTA, ManagedQuota, Override
from bot.reconcile.due import wake
from bot.reconcile.wakeups import Wakeup, cluster_lane

log = structlog.get_logger()

_QUEUES = frozenset(each.queues for each in ENGINES.values() if each.queues)


class QueueChanges:
    """Finds the rows that a changed queue concerns; changes of status alone concern none."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._generations: dict[tuple[str, str], int] = {}

    def changes(self, change: Change) -> list[Wakeup]:
        """The rows to check because of this change."""
        if change.resource not in _QUEUES:
            return []
        queue = change.object
        if isinstance(queue, ClusterObject) and change.kind != "deleted":
            key = (change.cluster, queue.name)
            if self._generations.get(key) == queue.metadata.generation:
                return []
            self._generations[key] = queue.metadata.generation
        name = queue.name if isinstance(queue, ClusterObject) else None
        try:
            rows = self._database.read(lambda session: _in_hand(session, change.cluster, name))
        except DatabaseError as error:
            log.warning("change of a queue not processed", queue=name, error=error.message)
            return []
        return [Wakeup(QUOTA, row, cluster_lane(change.cluster)) for row in rows]


def recover(session: Session, engine: Engine, workspace_id: str, now: datetime) -> int:
    """Restores quotas with overrides known only from annotations; returns how many there were.

    That happens when rows were lost, or when a patch reached the cluster after its override
    had ended. Only annotations of this installation count.
    """
    return sum(
        _adopt(session, managed(session, engine.cluster, workspace_id, place), note, now)
        for place, note in engine.overrides.notes()
    )


def _in_hand(session: Session, cluster: str, queue: str | None) -> list[str]:
    statement = select(col(ManagedQuota.id)).where(
        col(ManagedQuota.cluster) == cluster, col(ManagedQuota.baseline).is_not(None)
    )
    if queue is not None:
        statement = statement.where(col(ManagedQuota.queue) == queue)
    return list(session.scalars(statement))


def _adopt(session: Session, quota: ManagedQuota, note: QuotaAnnotation, now: datetime) -> bool:
    """Starts to manage an unmanaged quota whose overrides are over."""
    if quota.baseline is not None:
        return False
    is_known = any(session.get(Override, each) for each in note.ids)
    if not is_known and now < datetime.fromisoformat(note.until):
        return False
    quota.baseline, quota.last_written = decoded(note.baseline), decoded(note.value)
    session.add(quota)
    wake(session, QUOTA, quota.id, cluster_lane(quota.cluster), now)
    return True
