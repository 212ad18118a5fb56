"""Marks caches for eviction and removes marks, by compare-and-set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, update
from sqlmodel import Session, col

from bot.audit import Actor, record
from bot.datasets.caches import fills
from bot.datasets.caches.evictions import notices
from bot.datasets.caches.finding import refuse_lost
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.datasets.caches.users import PIN, holding
from bot.errors import ConflictError
from bot.holds import Hold
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards


@dataclass(frozen=True)
class Mark:
    """Who requested an eviction (no person: the bot's own rules), and why, as a sentence."""

    actor: Actor
    why: str


def mark(session: Session, cache: Cache, asked: Mark, now: datetime) -> None:
    """Marks a cache for eviction; ConflictError if something needs it, or it is marked already.

    Runs take their holds by the same comparison, so that only one of the two succeeds.
    """
    refuse_lost(session, cache, "evicted")
    refuse_needed(cache, holding(session, cache, now))
    marked = session.connection().execute(
        update(Cache)
        .where(
            col(Cache.id) == cache.id,
            col(Cache.wanted) == CacheIntent.READY,
            col(Cache.ended_at).is_(None),
        )
        .values(
            wanted=CacheIntent.EVICT, evict_by=asked.actor.person, evict_at=now, evict_why=asked.why
        )
    )
    if cast("CursorResult[Any]", marked).rowcount != 1:
        raise ConflictError(
            f"{cache.reference} is already being evicted.", "Its card shows the progress."
        )
    session.expire(cache)
    facts = {"name": cache.reference, "class": cache.storage_class, "why": asked.why}
    record(session, asked.actor, "dataset.evict", (CACHE, cache.id), facts, at=now)
    refresh_cards(session, cache.subject, live=True)
    wake(session, CACHE, cache.id, cluster_lane(cache.cluster), now)


def refuse_needed(cache: Cache, users: Sequence[str]) -> None:
    """ConflictError if there are users of the cache, naming the first of them."""
    if users:
        others = f" And {len(users) - _NAMED} more." if len(users) > _NAMED else ""
        raise ConflictError(
            f"{cache.reference} cannot be evicted from {cache.place}."
            f" {' '.join(users[:_NAMED])}{others}",
            "Evict it when it is no longer needed.",
        )


_NAMED = 5


def begin(session: Session, cache_id: str, now: datetime) -> None:
    """Starts the eviction of a marked cache that nothing uses."""
    cache = session.get_one(Cache, cache_id)
    cache.phase, cache.since, cache.obstacle, cache.trouble = CachePhase.EVICTING, now, "", ""
    cache.called_off = cache.noticed_at = cache.leaves_at = None
    session.add(cache)
    service.leave(session, cache_id, now)
    fills.ends(session, cache, now)
    refresh_cards(session, cache.subject, live=True)


def call_off(session: Session, cache_id: str, users: Sequence[str], now: datetime) -> None:
    """Cancels an eviction because something uses the cache, and reports that once.

    It counts as use, so that the eviction is not announced again at once.
    """
    cache = session.get_one(Cache, cache_id)
    if cache.wanted != CacheIntent.EVICT or not cache.is_live:
        return
    cache.called_off = f"Its eviction was cancelled: it is in use. {' '.join(users[:_NAMED])}"
    cache.wanted, cache.obstacle, cache.trouble = CacheIntent.READY, "", ""
    if cache.phase == CachePhase.EVICTING:
        cache.phase, cache.since = CachePhase.READY, now
    notices.called_off(session, cache, now)
    cache.noticed_at = cache.leaves_at = cache.evict_at = cache.evict_by = None
    cache.used_at = now
    cache.evict_why = ""
    session.add(cache)
    facts = {"name": cache.reference, "why": cache.called_off}
    actor = Actor(cache.workspace_id, team=cache.team)
    record(session, actor, "dataset.evict_called_off", (CACHE, cache.id), facts, at=now)
    refresh_cards(session, cache.subject, live=False)


@dataclass(frozen=True)
class Parting:
    """The result of an eviction: bytes freed, and the name of a volume that is kept."""

    freed_bytes: int | None
    retained: str = ""


def finish(session: Session, cache_id: str, parting: Parting, now: datetime) -> None:
    """Records that a cache is evicted, and reports how much space that freed."""
    cache = session.get_one(Cache, cache_id)
    cache.phase, cache.since, cache.ended_at = CachePhase.EVICTED, now, now
    cache.freed_bytes, cache.is_cleared = parting.freed_bytes, True
    cache.obstacle = cache.trouble = ""
    left = service.remains(session, cache_id)
    cache.reason = f"{notices.outcome(cache, parting.retained)} {left}".strip()
    session.add(cache)
    session.connection().execute(
        delete(Hold).where(
            col(Hold.thing_kind) == CACHE,
            col(Hold.thing_id) == cache_id,
            col(Hold.subject_kind) == PIN,
        )
    )
    notices.evicted(session, cache, now)
    refresh_cards(session, cache.subject, live=False)


def waiting(session: Session, cache_id: str, obstacle: str) -> None:
    """Shows on the card what an eviction is waiting for."""
    cache = session.get_one(Cache, cache_id)
    cache.trouble = ""
    if cache.obstacle != obstacle:
        cache.obstacle = obstacle
        refresh_cards(session, cache.subject, live=True)
    session.add(cache)


def remember_volume(session: Session, cache_id: str, name: str) -> None:
    """Records the volume of a cache's PVC, which is needed after the PVC is deleted."""
    cache = session.get_one(Cache, cache_id)
    cache.volume_name = name
    session.add(cache)
