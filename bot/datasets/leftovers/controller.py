"""Finds objects that caches and surveys left over; deletes them only when people confirm."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session, col, select

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, VOLUMES, Resource
from bot.cluster.types.objects import ClusterObject
from bot.config import Settings
from bot.datasets.caches.evictions import claim_usage
from bot.datasets.caches.tables import ORPHAN, Cache, CacheShare, Orphan
from bot.datasets.caches.users import needing
from bot.datasets.leftovers import idle, notices
from bot.datasets.leftovers.sources import OrphansFound, OrphanSource, ask
from bot.datasets.tables import Push, Version
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import wake
from bot.reconcile.frame import ControllerContext
from bot.reconcile.wakeups import cluster_lane
from bot.volumes.records import ClaimPlace, stale, why_it_stays

# A row is written before its objects are created, and cleared after they are deleted.
_YOUNG = timedelta(hours=1)
_REMOVABLE: dict[str, Resource[Any]] = {JOBS.kind: JOBS, PVCS.kind: PVCS}
_ROWS: tuple[tuple[str, type[Cache] | type[CacheShare] | type[Version] | type[Push]], ...] = (
    (labels.DATASET_CACHE, Cache),
    (labels.DATASET_SHARE, CacheShare),
    (labels.DATASET_VERSION, Version),
    (labels.DATASET_PUSH, Push),
)


def look_for_orphans(settings: Settings, session: Session, now: datetime) -> None:
    """Schedules a search for leftover objects in each cluster."""
    for cluster in settings.datasets.everywhere if settings.datasets is not None else ():
        wake(session, ORPHAN, cluster, cluster_lane(cluster), now)


def present(session: Session, cluster: str) -> Sequence[Orphan]:
    """The leftover objects of a cluster that are known, the oldest first."""
    return session.exec(
        select(Orphan)
        .where(col(Orphan.cluster) == cluster, col(Orphan.gone_at).is_(None))
        .order_by(col(Orphan.id))
    ).all()


class OrphanController:
    """Keeps the list of leftover objects of each cluster."""

    kind = ORPHAN

    def __init__(self, context: ControllerContext, sources: Sequence[OrphanSource] = ()) -> None:
        self._context = context
        self._sources = sources

    def step(self, row_id: str) -> Step:
        """Deletes what people confirmed, then searches again; OutsideError if that fails."""
        settings, cluster = self._context.settings(), self._context.clusters.get(row_id)
        if settings.datasets is None or cluster is None:
            return Step(None)
        now = self._context.clock.now()
        known = self._context.database.read(lambda session: present(session, row_id))
        refused = {
            each.id: " ".join(users)
            for each in known
            if each.wanted_by is not None and (users := self._remove(cluster, each))
        }
        found = self._find(cluster, settings.datasets.at(row_id).namespace, now)
        asked = ask(self._sources, cluster, now)
        is_counted = settings.datasets.idle_claims != "off"
        there = {each.uid: each for each in cluster.list(PVCS)} if is_counted else {}
        noted = self._context.database.read(lambda session: claim_usage.noted(session, row_id))
        unused = idle.find(cluster, settings, noted, there, now)

        def save(session: Session) -> None:
            seen = OrphansFound([*found, *asked.found], asked.failed, asked.needed)
            _record(session, settings.workspace, row_id, seen, refused, now)
            claim_usage.forget(session, row_id, there)
            left = notices.Left(row_id, present(session, row_id), unused, asked.failed)
            notices.report(session, settings, left, now)

        return Step(None, save)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Notes why objects whose deletion was confirmed still exist."""
        for orphan in present(session, row_id):
            if orphan.wanted_by is not None:
                orphan.trouble = trouble.sentence
                session.add(orphan)

    def _remove(self, cluster: Cluster, orphan: Orphan) -> list[str]:
        """Deletes an object; if something needs it, returns what does and deletes nothing."""
        place = ClaimPlace(cluster.name, orphan.namespace, orphan.name)
        moved = self._context.database.read(lambda session: stale(session, place))
        if moved is not None and orphan.kind == PVCS.kind:
            return [why_it_stays(moved)]
        source = next((each for each in self._sources if each.kind == orphan.kind), None)
        return _delete(cluster, orphan) if source is None else source.remove(cluster, orphan)

    def _find(self, cluster: Cluster, namespace: str, now: datetime) -> list[Orphan]:
        ours = f"{labels.INSTALLATION}={cluster.installation}"
        objects: list[tuple[str, ClusterObject]] = [
            *((JOBS.kind, each) for each in cluster.list(JOBS, namespace, labels=ours)),
            *((PVCS.kind, each) for each in cluster.list(PVCS, labels=ours)),
        ]
        left = self._context.database.read(lambda session: list(_unneeded(session, objects)))
        found = [
            _orphan(cluster.name, kind, each)
            for kind, each in left
            if now - (each.metadata.creation_timestamp or now) > _YOUNG
        ]
        return found + self._volumes(cluster, namespace)

    def _volumes(self, cluster: Cluster, namespace: str) -> list[Orphan]:
        """Released volumes whose PVC was that of one of our caches."""
        released = {
            volume.spec.claim_ref.name: volume
            for volume in cluster.list(VOLUMES)
            if volume.spec.claim_ref is not None
            and volume.spec.claim_ref.namespace == namespace
            and volume.status.phase in {"Released", "Failed"}
        }

        def ours(session: Session) -> set[str]:
            names = select(Cache.claim_name).where(col(Cache.claim_name).in_(list(released)))
            return set(session.exec(names))

        known = self._context.database.read(ours)
        return [
            _orphan(cluster.name, VOLUMES.kind, volume)
            for name, volume in released.items()
            if name in known
        ]


def _unneeded(
    session: Session, objects: Iterable[tuple[str, ClusterObject]]
) -> Iterator[tuple[str, ClusterObject]]:
    """The objects that have no row any more, or whose row no longer needs them."""
    for kind, each in objects:
        for label, rows in _ROWS:
            row_id = each.labels.get(label)
            row: Any = session.get(rows, row_id) if row_id is not None else None
            if row_id is not None and (row is None or _is_done(row)):
                yield kind, each
                break


def _is_done(row: Cache | CacheShare | Version | Push) -> bool:
    return row.ended_at is not None if isinstance(row, CacheShare) else row.is_cleared


def _orphan(cluster: str, kind: str, found: Any) -> Orphan:
    amounts = {
        PVCS.kind: lambda: found.spec.resources.requests,
        VOLUMES.kind: lambda: found.spec.capacity,
    }
    storage = amounts[kind]().get("storage") if kind in amounts else None
    return Orphan(
        workspace_id="",
        cluster=cluster,
        kind=kind,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        storage_class=(found.spec.storage_class_name or "") if kind in amounts else "",
        size_bytes=int(storage) if storage is not None else None,
        made_at=found.metadata.creation_timestamp,
        found_at=found.metadata.creation_timestamp,
    )


def _delete(cluster: Cluster, orphan: Orphan) -> list[str]:
    resource = _REMOVABLE.get(orphan.kind)
    if resource is None:
        return ["Only a cluster admin can delete it."]
    if resource is PVCS:
        users = needing(cluster, frozenset({(orphan.namespace, orphan.name)}))
        if users:
            return users
    cluster.delete(resource, orphan.name, orphan.namespace, uid=orphan.uid)
    return []


def _record(
    session: Session,
    workspace: str,
    cluster: str,
    seen: OrphansFound,
    refused: dict[str, str],
    now: datetime,
) -> None:
    there = {each.uid: each for each in seen.found}
    known = {each.uid: each for each in present(session, cluster)}
    for uid, row in known.items():
        new = there.get(uid)
        if new is not None:
            row.size_bytes, row.monthly_price = new.size_bytes, new.monthly_price
            row.why, row.command = new.why, new.command
        elif row.kind not in seen.failed or uid in seen.needed:
            row.gone_at = now
        row.trouble = refused.get(row.id, "")
        if row.trouble:
            row.wanted_by = row.wanted_at = None
        session.add(row)
    for uid, new in there.items():
        if uid not in known:
            new.workspace_id, new.found_at = workspace, now
            session.add(new)
    session.flush()
