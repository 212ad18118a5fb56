"""A cache in one line, for lists and the cards of datasets and versions. Pure: no I/O."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.datasets.caches.expiry import expires_at
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase
from bot.datasets.wording import capacity
from bot.durations import format_duration
from bot.slack.markup import Markup, join, plain, when

_STATES = {
    CachePhase.ASKED: "starting",
    CachePhase.STARTING: "starting",
    CachePhase.FILLING: "copying",
    CachePhase.ARRANGING: "arranging files",
    CachePhase.READY: "ready",
    CachePhase.EVICTING: "evicting",
}


def described(cache: Cache, now: datetime) -> Markup:
    """One line about a cache: state, size, teams, last use, and when it expires."""
    state = _STATES.get(CachePhase(cache.phase), cache.phase)
    if cache.phase == CachePhase.READY and cache.wanted != CacheIntent.READY:
        state = "eviction pending"
    said = plain(
        f"{cache.reference} on {cache.storage_class}: {state}, {capacity(cache.capacity_bytes)},"
        f" for {', '.join((cache.team, *cache.teams))}"
    )
    if not cache.is_ready:
        return join(said, ".")
    expires = cache.leaves_at or expires_at(cache)
    goes = join("; unless used, it will be evicted ", when(expires), ".") if expires else plain(".")
    return join(said, plain(f", last used {last_use(cache, now)}"), goes)


def last_use(cache: Cache, now: datetime) -> str:
    """When a cache was last used, and by what: `2h ago by run lane of team-a`."""
    ago = format_duration(max(now - cache.last_used_at, timedelta()))
    is_seen = cache.seen_used_at is not None and cache.seen_used_at >= cache.used_at
    return f"{ago} ago by {cache.used_by}" if cache.used_by and is_seen else f"{ago} ago"


def where(caches: Iterable[Cache]) -> str:
    """The classes on which a dataset is cached, with versions: `v3 on premium (ready)`."""
    return ", ".join(
        f"{each.reference.partition('@')[2]} on {each.storage_class}"
        f"{'' if each.is_ready else f' ({_STATES.get(CachePhase(each.phase), each.phase)})'}"
        for each in caches
    )
