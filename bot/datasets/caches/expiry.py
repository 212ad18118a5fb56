"""When an unused cache expires, and what a sweep does about it. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from bot.datasets.caches.tables import Cache
from bot.durations import format_duration

# A sweep runs every five minutes; after a longer pause people may not have seen the notices.
LONGEST_PAUSE = timedelta(hours=1)
_CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True)
class ExpiringCache:
    """A ready cache in a sweep; `users` and `pins` are sentences about what needs it."""

    cache: Cache
    users: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether nothing uses or pins it."""
        return not (self.users or self.pins)


@dataclass(frozen=True)
class Leave:
    """A reason to evict a cache at `at` or later, as a sentence."""

    at: datetime
    why: str


@dataclass(frozen=True)
class Announce:
    """Announce that the cache will be evicted at `at`."""

    at: datetime
    why: str


@dataclass(frozen=True)
class Withdraw:
    """Cancel the announced eviction."""

    why: str


@dataclass(frozen=True)
class Evict:
    """Evict the cache: its notice has ended."""


Action = Announce | Withdraw | Evict | None


def expires_at(cache: Cache) -> datetime | None:
    """When a cache expires if it stays unused; None if it never does."""
    if cache.keep_seconds is None:
        return None
    expires = cache.last_used_at + timedelta(seconds=cache.keep_seconds)
    return max(expires, cache.expires_after or expires)


def lead(cache: Cache, notice: timedelta) -> timedelta:
    """How long before its expiry a cache is announced: at most half of the time it is kept."""
    if cache.keep_seconds is None:
        return notice
    return min(notice, timedelta(seconds=cache.keep_seconds) / 2)


def expiring(found: Sequence[ExpiringCache], notice: timedelta, now: datetime) -> dict[str, Leave]:
    """The caches that have expired or will within the notice, by their ids."""
    leaves = {}
    for each in found:
        expires = expires_at(each.cache)
        if expires is not None and now >= expires - lead(each.cache, notice):
            leaves[each.cache.id] = Leave(expires, _unused(each.cache, now))
    return leaves


def soonest(*reasons: Mapping[str, Leave]) -> dict[str, Leave]:
    """The earliest of several reasons for each cache, by id."""
    found: dict[str, Leave] = {}
    for cache_id, leave in chain.from_iterable(each.items() for each in reasons):
        found[cache_id] = min(found.get(cache_id, leave), leave, key=lambda each: each.at)
    return found


def is_after_a_pause(swept_at: datetime | None, now: datetime) -> bool:
    """Whether the last sweep is missing or too long ago, or the clock jumped since then."""
    if swept_at is None:
        return True
    return not -_CLOCKS_DIFFER <= now - swept_at <= LONGEST_PAUSE


def action(
    found: ExpiringCache, leave: Leave | None, notice: timedelta, *, anew: bool, now: datetime
) -> Action:
    """What to do about a cache; with `anew` it is announced again before it is evicted."""
    cache = found.cache
    if leave is None or not found.is_free:
        return Withdraw(_why_it_stays(found)) if cache.noticed_at is not None else None
    earliest = max(leave.at, now + lead(cache, notice))
    if cache.noticed_at is None or cache.leaves_at is None or leave.at > cache.leaves_at:
        return Announce(earliest, leave.why)
    if anew:
        return Announce(max(earliest, cache.leaves_at), f"{leave.why} {_ANEW}")
    return Evict() if now >= cache.leaves_at else None


def capped(actions: Mapping[str, Action], found: Sequence[ExpiringCache], most: int) -> set[str]:
    """The ids of caches to evict in one sweep: at most so many, the longest overdue first."""
    due = [each.cache for each in found if isinstance(actions.get(each.cache.id), Evict)]
    due.sort(key=lambda cache: (cache.leaves_at or cache.since, cache.id))
    return {each.id for each in due[:most]}


_ANEW = "The bot did not check for a while, so this notice is posted again."


def _unused(cache: Cache, now: datetime) -> str:
    unused = format_duration(max(now - cache.last_used_at, timedelta()))
    keep = format_duration(timedelta(seconds=cache.keep_seconds or 0))
    put_off = " and its extension ends" if cache.expires_after is not None else ""
    return f"It has been unused for {unused}{put_off}; it is kept {keep} after its last use."


def _why_it_stays(found: ExpiringCache) -> str:
    return next(
        iter((*found.users, *found.pins)),
        "It was extended or used, or there is enough free space again.",
    )
