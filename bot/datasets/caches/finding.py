"""Finds caches among the rows, and those whose volumes Trident cannot find after a move."""

from collections.abc import Sequence

from sqlalchemy import case, func, select
from sqlmodel import Session, col

from bot.datasets import subfolders
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase, VersionUse
from bot.errors import ConflictError
from bot.volumes.records import ClaimPlace, refuse_stale, stale, why_it_stays

_SHOWN_USES = 5


def by_id(session: Session, cache_id: str) -> Cache | None:
    """The cache of that id, in any phase."""
    return session.get(Cache, cache_id)


def live(session: Session, dataset_id: str) -> Sequence[Cache]:
    """The caches of a dataset that have not ended; newest first."""
    return session.scalars(
        select(Cache)
        .where(col(Cache.dataset_id) == dataset_id, col(Cache.ended_at).is_(None))
        .order_by(col(Cache.id).desc())
    ).all()


def of_version(
    session: Session, version_id: str, cluster: str, folders: Sequence[str] = ()
) -> Sequence[Cache]:
    """The caches of a version in a cluster that have not ended; ready ones first.

    They hold these folders of it; without folders, the whole version.
    """
    found = session.scalars(
        select(Cache)
        .where(
            col(Cache.version_id) == version_id,
            col(Cache.cluster) == cluster,
            col(Cache.ended_at).is_(None),
        )
        .order_by(case((col(Cache.phase) == CachePhase.READY, 0), else_=1), col(Cache.id))
    )
    return [each for each in found if each.has(folders)]


def exactly(
    session: Session, version_id: str, wanted: tuple[str | None, str], part: str
) -> Cache | None:
    """The cache of exactly these folders; without any, of the whole version.

    `wanted` is its class, None for any, and its cluster. One being evicted is meant only if all
    are.
    """
    storage_class, cluster = wanted
    found = of_version(session, version_id, cluster, subfolders.read(part))
    meant = [
        each for each in found if storage_class in {None, each.storage_class} and each.part == part
    ]
    return min(meant, key=lambda each: each.wanted == CacheIntent.EVICT, default=None)


def holder(
    session: Session, version_id: str, wanted: tuple[str | None, str], folders: tuple[str, ...]
) -> Cache | None:
    """A cache that stays, is not lost, and holds these folders among other files."""
    storage_class, cluster = wanted
    for each in of_version(session, version_id, cluster, folders) if folders else ():
        is_meant = storage_class in {None, each.storage_class} and each.folders != folders
        if is_meant and each.wanted == CacheIntent.READY and not lost(session, each):
            return each
    return None


def anywhere(session: Session, version_id: str) -> Sequence[Cache]:
    """The caches of a version and its parts in all clusters that have not ended; ready first."""
    return session.scalars(
        select(Cache)
        .where(col(Cache.version_id) == version_id, col(Cache.ended_at).is_(None))
        .order_by(case((col(Cache.phase) == CachePhase.READY, 0), else_=1), col(Cache.id))
    ).all()


def live_of_each(session: Session, dataset_ids: Sequence[str]) -> dict[str, list[Cache]]:
    """The caches of these datasets that have not ended, by dataset id."""
    found: dict[str, list[Cache]] = {each: [] for each in dataset_ids}
    rows = session.scalars(
        select(Cache)
        .where(col(Cache.dataset_id).in_(dataset_ids), col(Cache.ended_at).is_(None))
        .order_by(col(Cache.id).desc())
    )
    for row in rows:
        found[row.dataset_id].append(row)
    return found


def uses(session: Session, version_id: str) -> tuple[Sequence[VersionUse], int]:
    """The last few uses of a version, the newest first, and their total number."""
    chosen = col(VersionUse.version_id) == version_id
    newest = session.scalars(
        select(VersionUse)
        .where(chosen)
        .order_by(col(VersionUse.subject_id).desc())
        .limit(_SHOWN_USES)
    ).all()
    if len(newest) < _SHOWN_USES:
        return newest, len(newest)
    return newest, session.scalar(select(func.count()).select_from(VersionUse).where(chosen)) or 0


def refuse_lost(session: Session, cache: Cache, doing: str) -> None:
    """ConflictError if a cache is lost; `doing` completes "It cannot be ..."."""
    refuse_stale(session, _place(cache), doing)


def refuse_evicted(session: Session, cache: Cache) -> None:
    """Refuses further use of a cache that goes, or whose files are lost."""
    refuse_lost(session, cache, "used by more teams or runs")
    if cache.wanted == CacheIntent.EVICT:
        raise ConflictError(
            f"{cache.reference} is being evicted from {cache.place}.",
            "Cache it again when its card shows Evicted.",
        )


def lost(session: Session, cache: Cache) -> str:
    """Why a lost cache must not be deleted, as a sentence; empty if it is not lost."""
    found = stale(session, _place(cache))
    return why_it_stays(found) if found is not None else ""


def _place(cache: Cache) -> ClaimPlace:
    return ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
