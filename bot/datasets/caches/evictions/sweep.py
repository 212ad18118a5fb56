"""One sweep over the caches of a cluster: records their use, announces and evicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor
from bot.config import Settings
from bot.datasets.caches.evictions import notices
from bot.datasets.caches.evictions.claim_usage import ClaimUse
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.expiry import (
    Action,
    Announce,
    ClassCapacity,
    Evict,
    ExpiringCache,
    Withdraw,
    action,
    capped,
    crowded,
    expiring,
    is_after_a_pause,
    soonest,
)
from bot.datasets.caches.finding import lost
from bot.datasets.caches.tables import CACHE, SWEEP, Cache, CacheIntent, CachePhase, Sweep
from bot.datasets.caches.users import PIN, said_of
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards


@dataclass(frozen=True)
class CacheUsage:
    """The use of caches by their ids, and the capacity of classes, as a sweep observed them."""

    cluster: str
    uses: Mapping[str, ClaimUse]
    rooms: Mapping[str, ClassCapacity]


def look_through(settings: Settings, session: Session, now: datetime) -> None:
    """Schedules a sweep of each cluster."""
    for cluster in settings.datasets.everywhere if settings.datasets is not None else ():
        wake(session, SWEEP, cluster, cluster_lane(cluster), now)


def ready(session: Session, cluster: str) -> Sequence[Cache]:
    """The caches of a cluster that are ready and not marked for eviction."""
    return session.exec(
        select(Cache)
        .where(
            col(Cache.cluster) == cluster,
            col(Cache.phase) == CachePhase.READY,
            col(Cache.wanted) == CacheIntent.READY,
            col(Cache.ended_at).is_(None),
        )
        .order_by(col(Cache.id))
    ).all()


def sweep(session: Session, seen: CacheUsage, settings: Settings, now: datetime) -> None:
    """Records what was observed; announces evictions, withdraws notices, and marks caches."""
    if settings.datasets is None:
        return
    datasets = settings.datasets.at(seen.cluster)
    last = session.get(Sweep, seen.cluster)
    anew = is_after_a_pause(last.swept_at if last else None, now)
    session.merge(Sweep(cluster=seen.cluster, swept_at=now))
    named = settings.datasets.named(seen.cluster)
    found = [
        _found(session, each, seen.uses.get(each.id), named, now)
        for each in ready(session, seen.cluster)
    ]
    percents = {
        name: known.watermark_percent
        for name, known in datasets.classes.items()
        if known.watermark_percent is not None
    }
    leaves = soonest(
        crowded(found, seen.rooms, percents, now), expiring(found, datasets.notice, now)
    )
    actions = {
        each.cache.id: action(each, leaves.get(each.cache.id), datasets.notice, anew=anew, now=now)
        for each in found
    }
    going = capped(actions, found, datasets.evictions_per_sweep)
    for each in found:
        _act(session, each.cache, actions[each.cache.id], settings, now)
        if each.cache.id in going:
            actor = Actor(each.cache.workspace_id, team=each.cache.team)
            mark(session, each.cache, Mark(actor, each.cache.evict_why), now)


def withdraw(session: Session, cache: Cache, why: str, settings: Settings, now: datetime) -> None:
    """Withdraws the notice of a cache, if it has one: in the channels and on the card."""
    if cache.noticed_at is None:
        return
    cache.called_off = why
    notices.withdrawn(session, cache, channels(cache, settings), now)
    cache.noticed_at = cache.leaves_at = None
    cache.evict_why = ""
    session.add(cache)
    refresh_cards(session, cache.subject, live=False)


def channels(cache: Cache, settings: Settings) -> list[str]:
    """The channels of a cache: its own, and the first channel of each other team."""
    others = (settings.teams.get(name) for name in cache.teams)
    found = (cache.channel, *(each.channels[0] for each in others if each and each.channels))
    return list(dict.fromkeys(found))


def _act(session: Session, cache: Cache, do: Action, settings: Settings, now: datetime) -> None:
    match do:
        case Announce(at, why):
            cache.noticed_at, cache.leaves_at, cache.evict_why = now, at, why
            cache.called_off = None
            session.add(cache)
            notices.noticed(session, cache, channels(cache, settings), now)
            refresh_cards(session, cache.subject, live=False)
        case Withdraw(why):
            withdraw(session, cache, why, settings, now)
        case Evict() | None:
            pass


def _found(
    session: Session, cache: Cache, use: ClaimUse | None, named: str, now: datetime
) -> ExpiringCache:
    """Records the latest use of a cache; returns it with what uses and pins it.

    `named` is its cluster as messages name it, which changes with the settings.
    """
    if cache.named_cluster != named:
        cache.named_cluster = named
        session.add(cache)
    on = holds.on(session, CACHE, cache.id, now)
    held = [each for each in on if each.subject_kind != PIN]
    pins = tuple(said_of(each, now) for each in on if each.subject_kind == PIN)
    if held:
        sentences = tuple(said_of(each, now) for each in held)
        earlier = use.users if use else ()
        use = replace(
            use or ClaimUse(now, ""), at=now, by=held[0].why, users=(*sentences, *earlier)
        )
    if use is not None and use.at > (cache.seen_used_at or cache.asked_at):
        cache.seen_used_at, cache.used_by = use.at, use.by
        session.add(cache)
    why = lost(session, cache)
    return ExpiringCache(cache, (*((why,) if why else ()), *(use.users if use else ())), pins)
