"""What a share gives another namespace: the PVC of a cache, or a team's PVC for a push."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session

from bot.cluster import labels
from bot.datasets.caches.tables import CACHE, Cache, CachePhase, CacheShare
from bot.datasets.caches.users import wake_holders
from bot.datasets.tables import PUSH, Push
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane


@dataclass(frozen=True)
class Origin:
    """The shared PVC, its name for people, and whether it can be shared yet.

    It is identified by the labels in `marks` or, if given, by its `uid`.
    """

    reference: str
    namespace: str
    claim_name: str
    storage_class: str
    ready_at: datetime | None
    is_ready: bool
    is_live: bool
    marks: Mapping[str, str] = field(default_factory=dict)
    uid: str | None = None


def origin_of(session: Session, share: CacheShare) -> Origin | None:
    """The origin of a share; None if its cache or push no longer exists."""
    if share.push_id is not None:
        push = session.get(Push, share.push_id)
        return _of_push(push) if push is not None else None
    cache = session.get(Cache, share.cache_id)
    return _of_cache(cache) if cache is not None else None


def wake_users(session: Session, share: CacheShare, now: datetime, *, is_gone: bool) -> None:
    """Wakes what waits for a share."""
    if share.push_id is not None:
        wake(session, PUSH, share.push_id, cluster_lane(share.cluster), now)
        return
    cache = session.get_one(Cache, share.cache_id)
    if is_gone:
        wake(session, CACHE, cache.id, cluster_lane(cache.cluster), now)
    wake_holders(session, cache, now)


def _of_cache(cache: Cache) -> Origin:
    return Origin(
        reference=cache.reference,
        namespace=cache.namespace,
        claim_name=cache.claim_name,
        storage_class=cache.storage_class,
        ready_at=cache.ready_at,
        is_ready=cache.phase == CachePhase.READY,
        is_live=cache.is_live,
        marks={labels.DATASET_CACHE: cache.id},
    )


def _of_push(push: Push) -> Origin:
    return Origin(
        reference=push.source,
        namespace=push.claim_namespace,
        claim_name=push.claim_name,
        storage_class=push.storage_class,
        ready_at=push.asked_at,
        is_ready=True,
        is_live=True,
        uid=push.claim_uid,
    )
