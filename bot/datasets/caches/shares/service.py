"""Shares as rows: which namespaces can mount a cache, and by which PVC."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlmodel import Session, col

from bot.database.columns import new_id
from bot.datasets.caches.tables import SHARE, Cache, CacheShare
from bot.datasets.job import job_name
from bot.datasets.tables import Push
from bot.errors import ConflictError
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane


def claim_for(session: Session, cache: Cache, namespace: str, now: datetime) -> str:
    """The PVC by which pods of a namespace mount a cache; requested if there is none.

    ConflictError while an earlier one is being removed.
    """
    if namespace == cache.namespace:
        return cache.claim_name
    share = _of_namespace(session, cache.id, namespace)
    if share is None:
        share = _new(cache, namespace, now)
        session.add(share)
        session.flush()
        wake(session, SHARE, share.id, cluster_lane(share.cluster), now)
    elif not share.is_wanted or share.reason:
        why = share.reason or "It is being removed there."
        raise ConflictError(
            f"Namespace {namespace} cannot mount {cache.reference} now. {why}",
            share.unblock or "Try again in a minute.",
        )
    return share.claim_name


def open_for(session: Session, push: Push, now: datetime) -> None:
    """Shares a team's PVC with the namespace of datasets until its push has ended."""
    share = CacheShare(
        id=push.share_id,
        workspace_id=push.workspace_id,
        push_id=push.id,
        cluster=push.cluster,
        namespace=push.namespace,
        claim_name=job_name(push.claim_name, push.share_id),
        asked_at=now,
        since=now,
    )
    session.add(share)
    session.flush()
    wake(session, SHARE, share.id, cluster_lane(share.cluster), now)


def close(session: Session, share: CacheShare, now: datetime) -> None:
    """Requests the removal of a share."""
    share.is_wanted = False
    session.add(share)
    wake(session, SHARE, share.id, cluster_lane(share.cluster), now)


def live(session: Session, cache_id: str) -> Sequence[CacheShare]:
    """The shares of a cache that exist, are requested, or are being removed."""
    return session.scalars(
        select(CacheShare)
        .where(col(CacheShare.cache_id) == cache_id, col(CacheShare.ended_at).is_(None))
        .order_by(col(CacheShare.id))
    ).all()


def remains(session: Session, cache_id: str) -> str:
    """What the removed shares of a cache left behind, as sentences."""
    ended = select(CacheShare).where(
        col(CacheShare.cache_id) == cache_id, col(CacheShare.ended_at).is_not(None)
    )
    return " ".join(each.trouble for each in session.scalars(ended) if each.trouble)


def leave(session: Session, cache_id: str, now: datetime) -> None:
    """Requests the removal of all shares of a cache."""
    for share in live(session, cache_id):
        close(session, share, now)


def by_claim(session: Session, cache_id: str, claim: str) -> CacheShare | None:
    """The share of a cache that has this PVC, in any phase."""
    return session.scalars(
        select(CacheShare).where(
            col(CacheShare.cache_id) == cache_id, col(CacheShare.claim_name) == claim
        )
    ).first()


def _of_namespace(session: Session, cache_id: str, namespace: str) -> CacheShare | None:
    return next((each for each in live(session, cache_id) if each.namespace == namespace), None)


def _new(cache: Cache, namespace: str, now: datetime) -> CacheShare:
    share_id = new_id()
    return CacheShare(
        id=share_id,
        workspace_id=cache.workspace_id,
        cache_id=cache.id,
        cluster=cache.cluster,
        namespace=namespace,
        claim_name=job_name(cache.reference, share_id),
        asked_at=now,
        since=now,
    )
